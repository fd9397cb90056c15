"""The neural family: storing, recalling and counting."""
