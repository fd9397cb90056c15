"""The tools: thin, named presets of the verbs, in one registry."""
