"""Journals: the output of panes in files with absolute offsets, which outlive muxpilot."""

from __future__ import annotations
