"""The MCP face; the only importer of the SDK."""
