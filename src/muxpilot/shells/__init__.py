"""Commands in live shells: run in the pane's own shell, and known exactly."""
