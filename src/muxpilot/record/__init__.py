"""Record the output of panes with its timing, and play recordings back."""
