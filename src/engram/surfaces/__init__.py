"""The edges: MCP over stdio and the command line."""
