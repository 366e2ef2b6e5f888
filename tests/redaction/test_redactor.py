"""The redactor alone: what is found, what is left, and what cuts, wraps and colours do to it."""

from __future__ import annotations

import pytest

from muxpilot.audit.redact import redact as redact_for_log
from muxpilot.errors import BadInput
from muxpilot.redaction.redactor import MASK, Redactor
from muxpilot.redaction.secret_shapes import SHAPES

TOKEN = "ghp_" + "aB3dE6" * 6
KEY_LINES = [
    f"{number}b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW" for number in range(6)
]
KEY = [
    "-----BEGIN OPENSSH PRIVATE KEY-----",
    *(line[:70] for line in KEY_LINES),
    "QyNTUxOQAA1Zg==",
    "-----END OPENSSH PRIVATE KEY-----",
]
CERTIFICATE = [line.replace("OPENSSH PRIVATE KEY", "CERTIFICATE") for line in KEY]

# One example for each row of the table, with the part that must not be shown.
EXAMPLES = (
    ("AKIAIOSFODNN7EXAMPLE", "IOSFODNN7"),
    (TOKEN, "aB3dE6"),
    ("github_pat_11ABCDEFG0abcdefghijkl_mnop", "11ABCDEFG0"),
    ("glpat-abcdefghij1234567890", "abcdefghij"),
    ("sk-ant-api03-abcdefghijklmnopqrst", "api03"),
    ("xoxb-123456789012-abcdefghij", "123456789012"),
    ("npm_abcdefghijklmnopqrstuvwx", "abcdefghij"),
    ("pypi-AgEIcHlwaS5vcmcCJGabcdefgh", "AgEIcHlwaS5"),
    ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "SyA1234567890"),
    ("hf_abcdefghijklmnopqrstuvwx", "abcdefghij"),
    ("dop_v1_0123456789abcdef0123456789", "0123456789"),
    ("SG.abcdefghijklmnopqr.abcdefghijklmnopqr", "abcdefghij"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJ", "SflKxwRJ"),
    ("Bearer abcdefgh1234", "abcdefgh1234"),
    ("Authorization: Basic am9lOmh1bnRlcjI=", "am9lOmh1bnRlcjI"),
    ("https://joe:hunter2@host/r", "hunter2"),
    ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI", "wJalrXUtnFEMI"),
    ("./run --password hunter2", "hunter2"),
    ("sshpass -p hunter2 ssh host", "hunter2"),
    ("curl -s -u joe:hunter2 http://x", "hunter2"),
    ("mysql -phunter2 db", "hunter2"),
)


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor()


def test_every_row_of_the_table_has_an_example() -> None:
    assert len(EXAMPLES) == len(SHAPES)


@pytest.mark.parametrize(("text", "secret"), EXAMPLES)
def test_the_log_and_the_answers_know_the_same_forms(redactor: Redactor, text: str, secret: str) -> None:
    shown = redactor.redact(f"first\n$ {text} rest\nlast")
    assert secret not in shown
    assert "[redacted]" in shown
    assert shown.startswith("first\n")
    assert shown.endswith("\nlast")
    assert secret not in redact_for_log(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Password:\n$ ls",
        "password: null, token: false",
        "a basic understanding of ssh -p 22 host",
        "task-force risk-free sk-1",
        "commit 71d9340a861fc5\n" + "0123456789abcdef" * 4,
        "drwxr-xr-x 2 joe joe 4096 Nov 18 09:34 token.txt",
        "\n".join(CERTIFICATE),
        "\n".join(CERTIFICATE[2:]),
        "grep -r '-----BEGIN RSA PRIVATE KEY-----' .\n./a.py: found\n$ ls -l",
    ],
)
def test_other_text_stays_as_it_is(redactor: Redactor, text: str) -> None:
    shown = redactor.redact(text)
    assert shown.replace("[redacted]", "-----BEGIN RSA PRIVATE KEY-----") == text


def test_every_part_of_a_private_key_is_found(redactor: Redactor) -> None:
    """Only its last line, alone, looks like any other text."""
    for first in range(len(KEY)):
        for last in range(first + 1, len(KEY) + 1):
            part = KEY[first:last]
            if part == [KEY[-2]]:
                continue
            shown = redactor.redact("\n".join(["$ cat key", *part, "$ echo done"]))
            assert not [line for line in KEY if line in shown], (first, last)
            assert shown.startswith("$ cat key\n")
            assert shown.endswith("\n$ echo done")
            assert shown.count("\n") == len(part) + 1


@pytest.mark.parametrize("cut", [slice(None), slice(0, 200), slice(-200, None)])
def test_a_private_key_in_a_string_is_found(redactor: Redactor, cut: slice) -> None:
    text = ('{"key": "' + "\\n".join(KEY) + '", "b": 1}')[cut]
    assert "b3BlbnNzaC1" not in redactor.redact(text)


def test_a_token_is_found_between_colours_which_stay(redactor: Redactor) -> None:
    text = f"a \x1b[31m{TOKEN[:9]}\x1b[1m{TOKEN[9:]}\x1b[0m b"
    assert redactor.redact(text) == "a \x1b[31m[redacted]\x1b[1m\x1b[0m b"


@pytest.mark.parametrize("cut", range(1, len(TOKEN)))
def test_no_half_of_a_token_is_shown_at_a_cut(redactor: Redactor, cut: int) -> None:
    before, after = f"x {TOKEN[:cut]}", f"{TOKEN[cut:]} y"
    assert redactor.redact_part("", before, after) == "x [redacted]"
    assert redactor.redact_part(before, after, "") == "[redacted] y"


def test_the_beginning_of_a_token_at_the_end_of_a_text_is_hidden(redactor: Redactor) -> None:
    """The rest may not have been printed yet, or a title was shortened."""
    assert redactor.redact(f"Command in pane %1: echo {TOKEN[:9]}") == "Command in pane %1: echo [redacted]"


@pytest.mark.parametrize("cut", range(1, len(TOKEN)))
def test_a_token_that_a_row_wraps_is_found_in_both_rows(redactor: Redactor, cut: int) -> None:
    rows = [f"{'x ' * 40}"[: 80 - cut - 1] + " " + TOKEN[:cut], TOKEN[cut:] + " rest", "short"]
    shown = redactor.redact("\n".join(rows), columns=80, is_screen=True).split("\n")
    assert shown[0].endswith(" [redacted]")
    assert shown[1:] == ["[redacted] rest", "short"]
    masked = redactor.mask_rows([row.ljust(80) for row in rows], 80)
    assert [row.count(MASK) for row in masked] == [cut, len(TOKEN) - cut, 0]
    assert [len(row) for row in masked] == [80, 80, 80]


def test_the_end_of_a_full_row_is_no_wrap_where_a_secret_ends_with_it(redactor: Redactor) -> None:
    rows = [f"echo {TOKEN}", "-rw-r--r-- file"]
    shown = redactor.redact("\n".join(rows), columns=80, is_screen=True)
    assert shown == "echo [redacted]\n-rw-r--r-- file"


def test_ids_and_cursors_stay_and_names_and_keys_do_not(redactor: Redactor) -> None:
    answer = {"paneId": TOKEN, "cursor": TOKEN, "name": TOKEN, "rows": [TOKEN, "b"], "at": {TOKEN: 3}, "n": 1}
    assert redactor.redact_value(answer) == {
        "paneId": TOKEN,
        "cursor": TOKEN,
        "name": "[redacted]",
        "rows": ["[redacted]", "b"],
        "at": {"[redacted]": 3},
        "n": 1,
    }


def test_own_patterns_are_whole_matches_in_lines() -> None:
    redactor = Redactor([r"^card (\d{4}) \d{4}$", "(?i)project-x"])
    assert redactor.redact("a\ncard 1234 5678\nProject-X z") == "a\n[redacted]\n[redacted] z"
    assert Redactor(["x*"]).redact("axxb") == "a[redacted]b"
    with pytest.raises(BadInput):
        Redactor(["("])


@pytest.mark.parametrize(("text", "secret"), [*EXAMPLES, (TOKEN[:9], TOKEN[4:9]), ("\n".join(KEY), KEY[2])])
def test_the_quick_search_of_an_answer_finds_what_the_search_of_each_text_finds(
    redactor: Redactor, text: str, secret: str
) -> None:
    for answer in (
        {"rows": [{"id": "%1", "title": text}, {"id": "%2", "title": "x"}]},
        {"name": f"a {text}", "next": "b"},
        {text: 1},
        {"lines": ["a", *text.split("\n"), "b"]},
        {"screen": "x" * 20 + " " + text[:10] + "\n" + text[10:]},
    ):
        found = redactor.redact_data(answer)
        assert found == redactor.redact_value(answer)
        if text != TOKEN[:9] and "screen" not in answer:
            assert secret not in str(found)


def test_an_answer_without_secrets_is_the_same_object() -> None:
    answer = {"panes": [{"id": "%1", "title": "bash", "currentPath": "/home/joe"}], "n": 1}
    assert Redactor().redact_data(answer) is answer
    assert Redactor(["\\Abash"]).redact_data(answer)["panes"][0]["title"] == "[redacted]"
