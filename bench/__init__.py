"""Programs that measure; nothing of the product imports them."""
