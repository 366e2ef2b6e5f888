"""Flags and environment become one frozen set of settings; nothing else reads the environment for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from muxpilot.errors import BadInput
from muxpilot.toolkit.spec import Scope

SHELL_TYPES = ("auto", "bash", "zsh", "fish")


@dataclass(frozen=True, slots=True)
class Settings:
    scope: Scope = Scope.AGENTIC
    socket: str | None = None
    shell_type: str = "auto"


def settings(
    environment: Mapping[str, str],
    *,
    scope: str | None = None,
    socket: str | None = None,
    shell_type: str | None = None,
) -> Settings:
    """A flag wins over its variable; an empty variable counts as none."""
    return Settings(
        scope=_scope(scope or environment.get("TMUX_MCP_SCOPE") or Scope.AGENTIC.value),
        socket=socket or environment.get("TMUX_MCP_SOCKET") or None,
        shell_type=shell_type or "auto",
    )


def _scope(text: str) -> Scope:
    try:
        return Scope(text)
    except ValueError:
        known = ", ".join(scope.value for scope in Scope)
        raise BadInput(f"{text!r} is not a scope.", f"Use one of: {known}.") from None
