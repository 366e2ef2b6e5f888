"""Runs commands in the shells of panes and knows exactly what each printed and how it ended."""
