"""The neural family: contradictions."""
