"""One spelling in Python, another on the wire."""

from __future__ import annotations


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def kebab(name: str) -> str:
    return name.strip("_").replace("_", "-")
