"""`muxpilot view`: a local web page where a person watches what agents do. It cannot type into panes."""
