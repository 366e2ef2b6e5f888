"""`muxpilot view`: a page on this machine where a person watches what agents do. Nothing in it can type."""
