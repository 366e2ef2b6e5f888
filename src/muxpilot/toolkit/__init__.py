"""What a tool is: its declaration, its arguments and its answers."""
