"""One table of a TOML text changes; the rest stays byte by byte."""

from __future__ import annotations

import tomllib

import pytest

from muxpilot.mcp_clients.entries import add_entry, remove_entry
from muxpilot.mcp_clients.toml_text import remove_toml, set_toml

PATH = ("mcp_servers", "muxpilot")
AROUND = '# mine\nmodel = "x"\n\n{}# of other\n[mcp_servers.other]\ncommand = "o"\n'


def test_a_table_between_others_is_changed_and_removed_in_its_place() -> None:
    table = '[mcp_servers."muxpilot"]\n# slow\nargs = [\n  "a",\n  "b",\n]\ncommand = "x" # c\n\n'
    text = AROUND.format(table)
    changed = set_toml(text, PATH, {"command": "y", "args": [], "env_vars": ["TMUX"]})
    wanted = '[mcp_servers."muxpilot"]\n# slow\nargs = []\ncommand = "y"\nenv_vars = ["TMUX"]\n\n'
    assert changed == AROUND.format(wanted)
    assert remove_toml(text, PATH) == AROUND.format("")


def test_tables_below_it_are_removed_with_it() -> None:
    tables = "[mcp_servers.muxpilot]\ncommand = 'x'\n[mcp_servers.muxpilot.env]\nA = 'b'\n\n"
    assert remove_toml(AROUND.format(tables), PATH) == AROUND.format("")


@pytest.mark.parametrize("text", ["", 'model = "x"', 'model = "x"\n', 'model = "x"\r\n\r\n[a]\r\nb = 1\r\n'])
def test_a_table_at_the_end_comes_and_goes(text: str) -> None:
    added = add_entry(text, ".toml", "mcp_servers", {"command": "muxpilot", "args": []})
    assert added.startswith(text)
    assert tomllib.loads(added)["mcp_servers"] == {"muxpilot": {"command": "muxpilot", "args": []}}
    assert tomllib.loads(remove_entry(added, ".toml", "mcp_servers")) == tomllib.loads(text)
    assert remove_entry(added, ".toml", "mcp_servers").rstrip() == text.rstrip()


@pytest.mark.parametrize(
    "text",
    [
        'x = """\n[mcp_servers.muxpilot]\n"""\n[mcp_servers]\nmuxpilot = {command = "muxpilot"}\n',
        'mcp_servers.muxpilot.command = "muxpilot"\n',
    ],
)
def test_a_form_that_cannot_be_changed_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="cannot change"):
        add_entry(text, ".toml", "mcp_servers", {"command": "other", "args": ["muxpilot"]})
    with pytest.raises(ValueError, match="cannot change"):
        remove_entry(text, ".toml", "mcp_servers")
