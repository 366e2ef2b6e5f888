"""Pictures of what a pane shows: tmux's own cells become PNG, SVG or HTML, without a browser or a network."""
