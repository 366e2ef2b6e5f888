"""Search of the content of paste buffers."""
