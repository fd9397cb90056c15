"""The neural family: the model and the index."""
