"""The neural family: plugins and webhooks."""
