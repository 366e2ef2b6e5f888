"""What a tool is: declared once, listed, checked, run and documented from that."""
