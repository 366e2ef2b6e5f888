"""Paths that tools may read and write."""
