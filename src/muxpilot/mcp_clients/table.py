"""One row for each MCP client: its files, the form of an entry, and what it asks a person first."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from muxpilot.config.environment import variable
from muxpilot.records import record

Entry = dict[str, Any]
# Codex passes on no variable of tmux unless it is named; without them muxpilot does not know its own pane.
_TMUX_VARIABLES = ["TMUX", "TMUX_PANE", "TMUX_TMPDIR"]


@record
class ClientConfig:
    """The configuration of a client.

    `project` and `user` are names of files, below this folder and below `base()`; the first is written where
    there is none. `section` is the key of the servers. A client with a window does not have the PATH of a
    shell (`is_desktop`).
    """

    title: str
    section: str
    entry: Callable[[list[str]], Entry]
    user: tuple[str, ...]
    base: Callable[[], Path]
    project: tuple[str, ...] = ()
    project_approval: str = ""
    user_approval: str = ""
    user_entry: Callable[[list[str]], Entry] | None = None
    is_desktop: bool = False

    def files(self, *, is_user: bool) -> list[Path]:
        """Return the files that the client would read, with symbolic links followed."""
        if is_user or not self.project:
            return [(self.base() / name).resolve() for name in self.user]
        return [Path(name).resolve() for name in self.project]

    def entry_for(self, command: list[str], *, is_user: bool) -> Entry:
        """Return the entry that starts this command."""
        form = self.user_entry if is_user and self.user_entry is not None else self.entry
        return form(command)


def _home() -> Path:
    return Path.home()


def _config_home() -> Path:
    return Path(variable("XDG_CONFIG_HOME") or Path.home() / ".config")


def _application_support() -> Path:
    return Path.home() / "Library/Application Support" if sys.platform == "darwin" else _config_home()


def _folder_of(name: str, default: str) -> Callable[[], Path]:
    """Return a function that reads a folder from a variable, or else takes one in the home."""
    return lambda: Path(variable(name) or Path.home() / default)


def _command_entry(command: list[str]) -> Entry:
    return {"command": command[0], "args": command[1:]}


def _stdio_entry(command: list[str]) -> Entry:
    return {"type": "stdio", **_command_entry(command)}


def _goose_entry(command: list[str]) -> Entry:
    names = {"enabled": True, "type": "stdio", "name": "muxpilot", "description": "tmux for agents"}
    rest = {"envs": {}, "env_keys": [], "timeout": 300}
    return {**names, "cmd": command[0], "args": command[1:], **rest}


_APPROVE = "{0} asks you to approve it at the first start: run `{1}` in this folder."
_TRUST = "{0} uses the servers of a folder once you trust the folder: start it here and say yes."

CLIENTS: dict[str, ClientConfig] = {
    "claude": ClientConfig(
        title="Claude Code",
        section="mcpServers",
        entry=_stdio_entry,
        project=(".mcp.json",),
        base=_folder_of("CLAUDE_CONFIG_DIR", ""),
        user=(".claude.json",),
        project_approval=_APPROVE.format("Claude Code", "claude"),
    ),
    "codex": ClientConfig(
        title="Codex",
        section="mcp_servers",
        entry=lambda command: _command_entry(command) | {"env_vars": _TMUX_VARIABLES},
        base=_folder_of("CODEX_HOME", ".codex"),
        user=("config.toml",),
    ),
    "cursor": ClientConfig(
        title="Cursor",
        section="mcpServers",
        entry=_command_entry,
        project=(".cursor/mcp.json",),
        base=_home,
        user=(".cursor/mcp.json",),
        project_approval="Cursor asks you to enable it: see Settings, MCP.",
        is_desktop=True,
    ),
    "vscode": ClientConfig(
        title="VS Code",
        section="servers",
        entry=_stdio_entry,
        project=(".vscode/mcp.json",),
        base=_application_support,
        user=("Code/User/mcp.json",),
        project_approval="VS Code asks whether you trust the server when it first starts.",
        user_approval="VS Code asks whether you trust the server when it first starts.",
        is_desktop=True,
    ),
    "opencode": ClientConfig(
        title="opencode",
        section="mcp",
        entry=lambda command: {"type": "local", "command": command, "enabled": True},
        project=("opencode.json", "opencode.jsonc"),
        base=_config_home,
        user=("opencode/opencode.jsonc", "opencode/opencode.json"),
    ),
    "gemini": ClientConfig(
        title="Gemini CLI",
        section="mcpServers",
        entry=_command_entry,
        project=(".gemini/settings.json",),
        base=_home,
        user=(".gemini/settings.json",),
        project_approval=_TRUST.format("Gemini CLI"),
        user_approval="Gemini CLI uses servers only in folders that you trust; it asks at its start.",
    ),
    "qwen": ClientConfig(
        title="Qwen Code",
        section="mcpServers",
        entry=_command_entry,
        project=(".qwen/settings.json",),
        base=_home,
        user=(".qwen/settings.json",),
        project_approval=_APPROVE.format("Qwen Code", "qwen"),
    ),
    "copilot": ClientConfig(
        title="Copilot CLI",
        section="mcpServers",
        entry=_stdio_entry,
        project=(".mcp.json",),
        base=_folder_of("COPILOT_HOME", ".copilot"),
        user=("mcp-config.json",),
        user_entry=lambda command: {"type": "local", **_command_entry(command), "tools": ["*"]},
        project_approval=_TRUST.format("Copilot CLI"),
    ),
    "amp": ClientConfig(
        title="Amp",
        section="amp.mcpServers",
        entry=_command_entry,
        project=(".amp/settings.json", ".amp/settings.jsonc"),
        base=_config_home,
        user=("amp/settings.json", "amp/settings.jsonc"),
        project_approval="Amp asks for your approval: run `amp mcp approve muxpilot`.",
    ),
    "droid": ClientConfig(
        title="Droid",
        section="mcpServers",
        entry=lambda command: {**_stdio_entry(command), "disabled": False},
        project=(".factory/mcp.json",),
        base=_home,
        user=(".factory/mcp.json",),
    ),
    "auggie": ClientConfig(
        title="Auggie",
        section="mcpServers",
        entry=lambda command: {**_stdio_entry(command), "env": {}},
        base=_home,
        user=(".augment/settings.json",),
    ),
    "cline": ClientConfig(
        title="Cline",
        section="mcpServers",
        entry=lambda command: {"transport": _stdio_entry(command)},
        base=_home,
        user=(".cline/data/settings/cline_mcp_settings.json",),
    ),
    "claude-desktop": ClientConfig(
        title="Claude Desktop",
        section="mcpServers",
        entry=_command_entry,
        base=_application_support,
        user=("Claude/claude_desktop_config.json",),
        is_desktop=True,
    ),
    "zed": ClientConfig(
        title="Zed",
        section="context_servers",
        entry=lambda command: {"source": "custom", **_command_entry(command), "env": {}},
        base=_config_home,
        user=("zed/settings.json",),
        is_desktop=True,
    ),
    "windsurf": ClientConfig(
        title="Windsurf",
        section="mcpServers",
        entry=_command_entry,
        base=_home,
        user=(".codeium/windsurf/mcp_config.json",),
        user_approval="Press the refresh button of Windsurf's list of MCP servers.",
        is_desktop=True,
    ),
    "goose": ClientConfig(
        title="goose",
        section="extensions",
        entry=_goose_entry,
        base=_config_home,
        user=("goose/config.yaml",),
        is_desktop=True,
    ),
}
