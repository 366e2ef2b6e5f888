"""What muxpilot keeps on disk about panes, so that nothing is lost when its process ends."""
