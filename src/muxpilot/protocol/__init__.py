"""MCP without I/O: messages, revisions, the phases of a connection, results, subscriptions and questions.

Nothing here reads, writes or waits. The transports of `server/` give it what they have read and send what it
returns, so that stdio and HTTP speak exactly the same protocol.
"""
