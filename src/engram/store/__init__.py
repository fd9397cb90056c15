"""SQL and nothing else: one Store with two backends, a function per question."""
