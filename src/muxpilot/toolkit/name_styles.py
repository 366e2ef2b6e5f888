"""Names in Python and in the protocol: `pane_id` is `paneId`, `list_panes` is `list-panes`."""

from __future__ import annotations


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def kebab(name: str) -> str:
    return name.strip("_").replace("_", "-")
