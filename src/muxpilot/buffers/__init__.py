"""What is done with the content of paste buffers: searching it, and keeping its files where they may be."""
