"""The declaration of a resource: an address, the tool that reads it, and the values of its variables."""

from __future__ import annotations

import re

from muxpilot.records import record
from muxpilot.tmux import PaneId, Tmux

JSON = "application/json"
TEXT = "text/plain"


@record
class CompletionRow:
    """How to complete a variable of an address: the tool that lists its values, and where they are in its
    answer."""

    variable: str
    tool: str
    rows: str
    fields: tuple[str, ...]


@record
class ResourceRow:
    """One kind of resource. Variables in the address become arguments of the tool."""

    template: str
    tool: str
    title: str
    mime: str
    description: str
    # Arguments that the address implies.
    fixed: tuple[tuple[str, object], ...] = ()
    # The tool that lists such resources, where policy may close it while the reader is open.
    lister: str | None = None

    @property
    def variables(self) -> list[str]:
        return re.findall(r"\{(\w+)\}", self.template)

    @property
    def variable(self) -> str | None:
        """Return the first variable of the address, or None for a fixed address."""
        return next(iter(self.variables), None)

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the values of the variables, or None if the address is of another kind."""
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(self.template))
        found = re.fullmatch(pattern, uri)
        return found.groupdict() if found else None


@record
class LiveEntry:
    """A command or a watch, as a resource. `tmux` is None if its server is not known any more."""

    id: str
    title: str
    tmux: Tmux | None
    pane: PaneId
    is_asked_here: bool  # by a client of this muxpilot, which may read it then
