"""Reading panes: bytes as the text that a person would see, and only what is new of it."""
