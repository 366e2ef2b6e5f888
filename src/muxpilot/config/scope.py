"""The sets of tools that a client can be offered."""

from __future__ import annotations

from enum import Enum


class Scope(Enum):
    """A set of tools; the value is what `--scope` takes."""

    AGENTIC = "agentic"
    PRIMITIVES = "primitives"
    ALL = "all"
    DEBUG = "debug"
    CLASSIC = "classic"
