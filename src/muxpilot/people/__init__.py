"""Questions to people: a form of the client, a popup in tmux, or the view page."""
