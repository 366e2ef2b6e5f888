"""MCP over stdio and HTTP. No other package imports the SDK."""
