"""Pictures of screens: cells become PNG, GIF, SVG or HTML, without a browser or a network."""
