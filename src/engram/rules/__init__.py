"""Pure functions: text, ids, ranking, seals. Nothing here does I/O."""
