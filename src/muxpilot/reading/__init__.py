"""Reading panes: the lines that are new since the last reading, and the whole scrollback."""
