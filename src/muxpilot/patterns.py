"""Patterns that users write: RE2, which no pattern can stall. The only importer of re2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from muxpilot.errors import BadInput


def matcher(pattern: str, mode: str, argument: str) -> Callable[[str], bool]:
    """Whether a line holds the pattern; `argument` is what a bad one is called in the error."""
    if not pattern:
        raise BadInput(f"The argument {argument!r} is empty.", "Give something to look for.")
    if mode == "literal":
        return lambda line: pattern in line
    search = compiled(pattern, argument).search
    return lambda line: search(line) is not None


def compiled(pattern: str, argument: str) -> Any:
    import re2  # loaded when first used: few calls need it

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        words = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise BadInput(
            f"The argument {argument!r} is not a regular expression: {words}.", "Use RE2 syntax."
        ) from None
