"""Recording what a pane prints, with its times, and reading that back."""
