"""Changes that a client is told of. Until 2025-11-25 it subscribes to each address; since 2026-07-28 a
request `subscriptions/listen` says what it wants, and its answer comes when the stream of changes ends."""

from __future__ import annotations

from typing import Any, NamedTuple

from muxpilot.protocol.messages import Params, RequestId
from muxpilot.protocol.rpc_errors import INVALID_PARAMS, ProtocolError

RESOURCE_UPDATED = "notifications/resources/updated"
RESOURCES_CHANGED = "notifications/resources/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"

_FLAGS = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")


class ChangeFilter(NamedTuple):
    """The changes that a client wants to hear of, or is told of. Tools and prompts never change."""

    uris: tuple[str, ...]
    has_resource_list: bool

    def to_json(self) -> dict[str, Any]:
        """Return the filter as it is acknowledged: only what is delivered."""
        listed = {"resourcesListChanged": True} if self.has_resource_list else {}
        return listed | ({"resourceSubscriptions": list(self.uris)} if self.uris else {})


def parse_filter(params: Params) -> ChangeFilter:
    """Return what `subscriptions/listen` asks for. Each address counts once."""
    wanted = params["notifications"]
    uris = wanted.get("resourceSubscriptions")
    uris = [] if uris is None else uris
    if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
        _refuse("resourceSubscriptions", "a list of strings")
    for name in _FLAGS:
        if not isinstance(wanted.get(name), bool | None):
            _refuse(name, "true or false")
    return ChangeFilter(tuple(dict.fromkeys(uris)), wanted.get("resourcesListChanged") is True)


def mark_stream(stream: RequestId, params: Params | None = None) -> Params:
    """Return the parameters of a notification, or a result, with the id of the stream that it belongs to."""
    return {**(params or {}), "_meta": {SUBSCRIPTION_KEY: stream}}


def _refuse(name: str, wanted: str) -> None:
    raise ProtocolError(INVALID_PARAMS, f"Invalid request parameters: notifications.{name} must be {wanted}")
