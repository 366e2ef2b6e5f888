"""The revisions of MCP that muxpilot speaks, one row each. What differs between them is a field of the row.

There are two eras. Until 2025-11-25, a connection begins with a handshake (`initialize`) that fixes the
revision. Since 2026-07-28 there are no connections: each request has an envelope in its `_meta`, which says
the revision and what the client can do.
"""

from __future__ import annotations

from typing import NamedTuple

from muxpilot.protocol.rpc_errors import INVALID_PARAMS, RESOURCE_NOT_FOUND

_SHARED_METHODS = frozenset(
    "tools/list tools/call resources/list resources/templates/list resources/read prompts/list prompts/get "
    "completion/complete".split()
)
_HANDSHAKE_METHODS = _SHARED_METHODS | frozenset(
    "initialize ping resources/subscribe resources/unsubscribe".split()
)
_STATELESS_METHODS = _SHARED_METHODS | frozenset("server/discover subscriptions/listen".split())


class Revision(NamedTuple):
    """One revision of the protocol."""

    version: str
    # False: each request has an envelope, a result says its type and how long it may be kept, and questions
    # to the person are results.
    has_handshake: bool
    methods: frozenset[str]
    # The code of the error for a resource that does not exist.
    missing_resource: int
    # How the client can ask the person something for us.
    elicitation_modes: frozenset[str]
    # Over HTTP, a stream of events begins with an empty event, so that it can be resumed from its start.
    has_priming_event: bool


REVISIONS = {
    row.version: row
    for row in (
        Revision(
            "2024-11-05",
            has_handshake=True,
            methods=_HANDSHAKE_METHODS,
            missing_resource=RESOURCE_NOT_FOUND,
            elicitation_modes=frozenset(),
            has_priming_event=False,
        ),
        Revision(
            "2025-03-26",
            has_handshake=True,
            methods=_HANDSHAKE_METHODS,
            missing_resource=RESOURCE_NOT_FOUND,
            elicitation_modes=frozenset(),
            has_priming_event=False,
        ),
        Revision(
            "2025-06-18",
            has_handshake=True,
            methods=_HANDSHAKE_METHODS,
            missing_resource=RESOURCE_NOT_FOUND,
            elicitation_modes=frozenset({"form"}),
            has_priming_event=False,
        ),
        Revision(
            "2025-11-25",
            has_handshake=True,
            methods=_HANDSHAKE_METHODS,
            missing_resource=RESOURCE_NOT_FOUND,
            elicitation_modes=frozenset({"form", "url"}),
            has_priming_event=True,
        ),
        Revision(
            "2026-07-28",
            has_handshake=False,
            methods=_STATELESS_METHODS,
            missing_resource=INVALID_PARAMS,
            elicitation_modes=frozenset({"form", "url"}),
            has_priming_event=False,
        ),
    )
}

NEWEST_HANDSHAKE = [row for row in REVISIONS.values() if row.has_handshake][-1]
STATELESS_VERSIONS = [row.version for row in REVISIONS.values() if not row.has_handshake]


def negotiate(version: str) -> Revision:
    """Return the revision of a handshake: the one asked for, or the newest that has a handshake."""
    found = REVISIONS.get(version)
    return found if found is not None and found.has_handshake else NEWEST_HANDSHAKE
