"""Add muxpilot to the text of a client's configuration, and take it out again."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from muxpilot.mcp_clients.json_text import read_json, remove_json, set_json
from muxpilot.mcp_clients.toml_text import read_toml, remove_toml, set_toml
from muxpilot.mcp_clients.yaml_text import find_yaml, remove_yaml, set_yaml
from muxpilot.records import record

NAME = "muxpilot"
# How the program is started. Only these keys of an entry that is there are changed; a person's own stay.
_START_KEYS = frozenset({"type", "command", "args", "cmd", "transport"})
_OWN_WORDS = (NAME, "tmux-mcp")


class ForeignEntry(ValueError):
    """The file has an entry of our name that starts another program."""


@record
class _Format:
    read: Callable[[str], Any]
    set_keys: Callable[[str, tuple[str, ...], dict[str, Any]], str]
    remove: Callable[[str, tuple[str, ...]], str]


def _set_json_keys(text: str, path: tuple[str, ...], keys: dict[str, Any]) -> str:
    servers = read_json(text)
    for key in path[:-1]:
        servers = servers.get(key, {})
    if path[-1] not in servers:
        return set_json(text, path, keys)
    for key, value in keys.items():
        text = set_json(text, (*path, key), value)
    return text


_FORMATS = {
    ".json": _Format(read_json, _set_json_keys, remove_json),
    ".jsonc": _Format(read_json, _set_json_keys, remove_json),
    ".toml": _Format(read_toml, set_toml, remove_toml),
}


def add_entry(text: str, suffix: str, section: str, entry: dict[str, Any]) -> str:
    """Return the text with our entry. Raise ValueError, with the reason, where it cannot be added."""
    if suffix == ".yaml":
        return _add_to_yaml(text, section, entry)
    form, path = _FORMATS[suffix], (section, NAME)
    content = _read_sections(form, text, section)
    found = content[section].get(NAME)
    if found is not None and not _is_ours(found):
        raise ForeignEntry
    changes = _changed_keys(found or {}, entry)
    if not changes:
        return text
    wanted = copy.deepcopy(content)
    wanted[section][NAME] = (found or {}) | changes
    result = form.set_keys(text, path, changes if found else entry)
    _check(form, result, wanted if found else content | {section: content[section] | {NAME: entry}})
    return result


def remove_entry(text: str, suffix: str, section: str) -> str:
    """Return the text without our entry, and without a section that has no other. It may be empty then."""
    if suffix == ".yaml":
        result = remove_yaml(text, (section, NAME))
        return "" if result.strip() == f"{section}: {{}}" else result
    form = _FORMATS[suffix]
    content = _read_sections(form, text, section)
    if NAME not in content[section]:
        return text
    result = form.remove(text, (section, NAME))
    del content[section][NAME]
    if not content[section]:
        result = form.remove(result, (section,)) if suffix != ".toml" else result
        del content[section]
    _check(form, result, content, section)
    return result if suffix == ".toml" or content or "/" in result else ""


def _read_sections(form: _Format, text: str, section: str) -> dict[str, Any]:
    content = form.read(text)
    servers = content.get(section, {}) if isinstance(content, dict) else None
    if not isinstance(servers, dict):
        raise ValueError(f"there is no table {section!r} to add to")
    sections: dict[str, Any] = content
    return sections | {section: dict(servers)}


def _check(form: _Format, text: str, wanted: dict[str, Any], section: str = "") -> None:
    """Compare a changed text with what it should say now, so that no form of a file is ever damaged."""
    try:
        found = form.read(text)
    except ValueError:
        found = None
    if found is not None and section and not found.get(section, True):
        del found[section]
    if found != wanted:
        raise ValueError("its section of servers has a form that muxpilot cannot change")


def _is_ours(found: Any) -> bool:
    return any(word in str(found) for word in _OWN_WORDS)


def _changed_keys(found: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    """Return what has to be written. No arguments and an empty list of them are the same."""
    return {
        key: value
        for key, value in entry.items()
        if (key not in found and value != []) or (key in found and key in _START_KEYS and found[key] != value)
    }


def _add_to_yaml(text: str, section: str, entry: dict[str, Any]) -> str:
    path = (section, NAME)
    found = find_yaml(text, path)
    if found is None:
        return set_yaml(text, path, entry)
    if not _is_ours({key: found.get(key, "") for key in ("cmd", "args")}):
        raise ForeignEntry
    changes = {
        key: value
        for key, value in entry.items()
        if key not in found or (key in _START_KEYS and found[key] != value)
    }
    return set_yaml(text, path, changes) if changes else text
