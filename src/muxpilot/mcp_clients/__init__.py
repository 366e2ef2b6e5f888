"""The configuration files of MCP clients: where they are, and how to change one entry in them."""
