"""The neural family: tags."""
