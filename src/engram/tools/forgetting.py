"""The neural family: forgetting, decay and its policy."""
