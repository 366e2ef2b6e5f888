"""Lists of triggers: how they are parsed, which are refused, and what each row declares."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import muxpilot.watch
from muxpilot.errors import BadInput
from muxpilot.tmux import PaneStream
from muxpilot.watch.pane_watch import PaneWatch
from muxpilot.watch.probes import Probes
from muxpilot.watch.trigger import Trigger, TriggerSource, TriggerType
from muxpilot.watch.triggers import TRIGGERS, parse_triggers, readiness_trigger
from muxpilot.watch.urls import parse_url
from muxpilot.watch.watch_start import WatchStart
from tests.watch.test_pane_watch import PANE


def words(given: str | list[str]) -> list[str]:
    return [trigger.word for trigger in parse_triggers(given)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("exit", ["exit"]),
        ("exit,user_input,error", ["exit", "user_input", "error"]),
        (" exit , error ,", ["exit", "error"]),
        ("pattern:a{1,3}", ["pattern:a{1,3}"]),
        ("pattern:a{1,3},exit", ["pattern:a{1,3}", "exit"]),
        ("exit,pattern:one, two,idle:5", ["exit", "pattern:one, two", "idle:5"]),
        ("pattern:x,exits", ["pattern:x,exits"]),
        ("pattern:a:b,port:80", ["pattern:a:b", "port:80"]),
        ("pattern:^(error|exit)$", ["pattern:^(error|exit)$"]),
        ("file:/tmp/a,b,exit", ["file:/tmp/a,b", "exit"]),
        ("url:http://localhost:8000/?a,b", ["url:http://localhost:8000/?a,b"]),
        ("idle:0.5,quiet:250", ["idle:0.5", "quiet:250"]),
        ("shell,password,bell,change", ["shell", "password", "bell", "change"]),
        ("exit,exit", ["exit", "exit"]),
    ],
)
def test_a_text_is_split_where_a_trigger_begins(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_a_list_is_taken_item_by_item_so_that_a_regex_may_hold_anything() -> None:
    assert words(["pattern:a,exit", "exit"]) == ["pattern:a,exit", "exit"]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("bogus", "'bogus'"),
        ("exit,bogus", "'bogus'"),
        ("exit,bogus,error", "'bogus'"),
        ("EXIT", "'EXIT'"),
        ("idle", "'idle'"),
        ("idle:", "'idle:'"),
        ("idle:0", "'idle:0'"),
        ("idle:-1", "'idle:-1'"),
        ("idle:x", "'idle:x'"),
        ("idle:1e3", "'idle:1e3'"),
        ("idle:٣", "'idle:"),
        ("quiet:1.5", "'quiet:1.5'"),
        ("port:0", "'port:0'"),
        ("port:65536", "'port:65536'"),
        ("port:http", "'port:http'"),
        ("exit:3", "'exit:3'"),
        ("bell:", "'bell:'"),
        ("pattern:", "'pattern:'"),
        ("pattern:(", "'pattern:('"),
        ("pattern:(?=x)", "'pattern:(?=x)'"),
        ("file:", "'file:'"),
        ("url:", "'url:'"),
        (["exit,error"], "'exit,error'"),
        (["exit", ""], "''"),
        ("", "'triggers'"),
        (" , ", "'triggers'"),
        ([], "'triggers'"),
        (["exit"] * 33, "'triggers' has 33"),
    ],
)
def test_a_bad_trigger_is_refused_by_name(given: str | list[str], named: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_triggers(given)
    assert named in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("idle:0", "needs a number of seconds from 0.01 to 86400. Write idle:5."),
        ("port:0", "needs a port from 1 to 65535. Write port:8000."),
        ("quiet:0", "needs a number of milliseconds from 1 to 86400000. Write quiet:500."),
        (
            r"exit,pattern:(a)\1",
            r"The argument 'triggers' has 'pattern:(a)\1', which is not a regular expression: "
            r"invalid escape sequence: \1. Use RE2 syntax.",
        ),
        (
            ["pattern:(\nx"],
            r"has 'pattern:(\nx', which is not a regular expression: missing ): (\nx. Use RE2 syntax.",
        ),
    ],
)
def test_a_bad_value_is_told_what_to_write(given: str | list[str], words: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_triggers(given)
    assert str(caught.value).endswith(words)


def test_the_refusal_of_an_unknown_name_lists_all_that_are_known() -> None:
    with pytest.raises(BadInput) as caught:
        parse_triggers("bogus")
    assert all(name in str(caught.value) for name in TRIGGERS)


def test_the_readiness_pattern_is_told_as_a_pattern() -> None:
    trigger = readiness_trigger("ready|done")
    assert (trigger.word, trigger.name) == ("pattern:ready|done", "pattern")
    for bad in ("", "("):
        with pytest.raises(BadInput, match="'pattern'"):
            readiness_trigger(bad)


@pytest.mark.parametrize(
    ("url", "hosts", "port", "path"),
    [
        ("http://localhost", ("127.0.0.1", "::1"), 80, "/"),
        ("http://LOCALHOST:8000/a?b=c#d", ("127.0.0.1", "::1"), 8000, "/a?b=c"),
        ("http://app.localhost:3000", ("127.0.0.1", "::1"), 3000, "/"),
        ("http://127.0.0.1:1", ("127.0.0.1",), 1, "/"),
        ("http://127.9.9.9/", ("127.9.9.9",), 80, "/"),
        ("http://[::1]:9/x", ("::1",), 9, "/x"),
        ("http://0.0.0.0:8000", ("127.0.0.1", "::1"), 8000, "/"),
    ],
)
def test_this_machine_is_known_without_asking_a_resolver(
    url: str, hosts: tuple[str, ...], port: int, path: str
) -> None:
    found = parse_url(url, ())
    assert (found.hosts, found.port, found.path, found.is_secure) == (hosts, port, path, False)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "http://169.254.169.254/latest",
        "http://10.0.0.1",
        "http://localhost.example.com",
        "http://127.0.0.1.example.com",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://localhost@example.com/",
        "http://user:pw@localhost/",
        "https://localhost/",
        "ftp://localhost/",
        "file:///etc/passwd",
        "localhost:8000",
        "http://",
        "http://localhost:0/",
        "http://localhost:99999/",
        "http://localhost/a b",
        "http://localhost/\r\nHost: evil",
        "http://localhost/é",
        "",
    ],
)
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_url(url, ())
    assert len(str(caught.value).splitlines()) == 1


def test_an_allowed_host_may_be_asked_also_by_https() -> None:
    found = parse_url("https://example.com/x", ("example.com",))
    assert (found.hosts, found.port, found.is_secure) == (("example.com",), 443, True)


def test_no_other_module_of_watches_knows_a_trigger_by_its_name() -> None:
    folder = Path(muxpilot.watch.__file__).parent
    wrong = [
        f"{name} in {module}"
        for module in ("pane_watch.py", "trigger_matcher.py", "watch_log.py", "foreground.py")
        for name in TRIGGERS
        if f'"{name}"' in (folder / module).read_text()
    ]
    assert wrong == []


def _parse_nothing(kind: TriggerType, word: str, text: str, source: TriggerSource) -> Trigger:
    return Trigger(word, kind)


async def _find_at_once(trigger: Trigger, probes: Probes, folder: str) -> str:
    return f"found in {folder}"


@pytest.mark.parametrize(
    ("row", "detail"),
    [
        (TriggerType("new", _parse_nothing, on_output=lambda batch: f"{batch.lines} lines"), "1 lines"),
        (TriggerType("new", _parse_nothing, on_end=lambda ending: ending.reason), "it is over"),
        (
            TriggerType("new", _parse_nothing, on_state=lambda check: check.state.evidence),
            "its process has ended",
        ),
        (
            TriggerType("new", _parse_nothing, on_clock=lambda _, activity: (activity.last_output, "now")),
            "now",
        ),
        (TriggerType("new", _parse_nothing, probe=_find_at_once), "found in /"),
    ],
    ids=["output", "end", "state", "clock", "probe"],
)
async def test_a_new_trigger_needs_only_a_row(row: TriggerType, detail: str) -> None:
    stream = PaneStream(PANE.id)
    triggers = [row.parse(row, "new", "", TriggerSource("triggers", ()))]
    watch = PaneWatch(PANE, WatchStart(0), triggers=triggers, timeout_s=10.0)
    if row.on_output is not None:
        stream.feed(b"a line\n")
    if row.on_end is not None:
        stream.finish(None, "it is over")
    event = await asyncio.wait_for(watch.run(stream), 10.0)
    assert (event.event, event.detail) == ("new", detail)
