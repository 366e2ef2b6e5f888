"""MCP over stdio and HTTP: the transports around `protocol/`, and the handlers of its methods."""
