"""What the MCP server over HTTP and the view page share: listening sockets, ASGI helpers, uvicorn."""
