"""What every HTTP page and endpoint shares: listening sockets, ASGI helpers, the web server."""
