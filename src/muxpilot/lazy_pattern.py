"""Regular expressions of ours that are compiled when they are first used, not when their module is imported.

A large one takes milliseconds to compile, and many starts never use it.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _LazyPattern:
    """Stands for a compiled pattern. Each attribute is looked up there once, and kept here."""

    def __init__(self, text: Any, flags: int) -> None:
        self._source = text, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._source), name)
        setattr(self, name, value)
        return value


def lazy_pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what `re.compile` would, but compile it at its first use."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(text, flags))
