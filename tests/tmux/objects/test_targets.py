"""Resolving targets: exactly the named object, or an error."""

from __future__ import annotations

import pytest

from muxpilot import Tmux
from muxpilot.errors import Ambiguous, BadInput, MuxpilotError, NotFound
from tests.rigs.engine import Raw

pytestmark = pytest.mark.both_tmux


async def resolve(tmux: Tmux, kind: str, text: str) -> str:
    return str(await getattr(tmux.targets, f"resolve_{kind}")(text))


@pytest.fixture
def ids(raw: Raw) -> dict[str, str]:
    """Create sessions `dev` and `develop`, as a person would, and return the id of each target."""
    places = (
        ("new-session", "-s", "dev", "-n", "edit"),
        ("split-window", "-t", "dev:0"),
        ("new-window", "-t", "dev:5", "-n", "a.1"),
        ("new-window", "-t", "dev:6", "-n", "twin"),
        ("new-window", "-t", "dev:7", "-n", "twin"),
        ("new-window", "-t", "dev:8", "-n", "5"),
        ("new-window", "-t", "dev:9", "-n", "dev:edit"),
        ("new-session", "-s", "develop", "-n", "edit"),
        ("new-session", "-s", "=dev", "-n", "odd"),
    )
    raw(*(word for place in places for word in (*place, "-d", "sleep 600", ";")))
    form = "#{session_name}:#{window_index}.#{pane_index} #{session_id} #{window_id} #{pane_id}"
    found: dict[str, str] = {}
    for line in raw("list-panes", "-a", "-F", form).splitlines():
        place, session, window, pane = line.rsplit(" ", 3)
        found |= {f"%{place}": pane, f"@{place.rpartition('.')[0]}": window}
        found[f"${place.partition(':')[0]}"] = session
    return found


NAMED = {
    "session": (
        ("dev", "$dev"),
        ("dev:", "$dev"),
        ("develop", "$develop"),
        ("=develop", "$develop"),
        ("=develop:", "$develop"),
        ("=dev", "$=dev"),  # there is one of just this name
        ("==dev", "$=dev"),
    ),
    "window": (
        ("dev", "@dev:0"),
        ("dev:", "@dev:0"),
        ("dev:0", "@dev:0"),
        ("dev:edit", "@dev:0"),
        ("develop:edit", "@develop:0"),
        ("=develop:edit", "@develop:0"),
        ("=dev:odd", "@=dev:0"),
        ("dev:a.1", "@dev:5"),
        ("dev:5", "@dev:5"),  # an index comes before a name
        ("dev:dev:edit", "@dev:9"),
    ),
    "pane": (
        ("dev", "%dev:0.0"),
        ("dev:0", "%dev:0.0"),
        ("dev:0.1", "%dev:0.1"),
        ("dev:edit.1", "%dev:0.1"),
        ("dev:a.1", "%dev:5.0"),  # a window of just this name
        ("dev:a.1.0", "%dev:5.0"),
        ("=develop:edit.0", "%develop:0.0"),
    ),
}


@pytest.mark.parametrize("kind", NAMED)
async def test_a_name_finds_exactly_what_it_says(tmux: Tmux, ids: dict[str, str], kind: str) -> None:
    found = {text: await resolve(tmux, kind, text) for text, _ in NAMED[kind]}
    assert found == {text: ids[place] for text, place in NAMED[kind]}


async def test_ids_find_what_they_are(tmux: Tmux, ids: dict[str, str]) -> None:
    dev = ids["$dev"]
    assert await resolve(tmux, "session", dev) == dev
    assert await resolve(tmux, "window", ids["@dev:5"]) == ids["@dev:5"]
    assert await resolve(tmux, "pane", ids["%dev:0.1"]) == ids["%dev:0.1"]
    assert await resolve(tmux, "window", f"{dev}:a.1") == ids["@dev:5"]
    assert await resolve(tmux, "window", f"{dev}:dev:edit") == ids["@dev:9"]
    assert await resolve(tmux, "window", f"dev:{ids['@dev:5']}") == ids["@dev:5"]
    assert await resolve(tmux, "pane", f"{dev}:0.{ids['%dev:0.1']}") == ids["%dev:0.1"]


@pytest.mark.parametrize("kind", NAMED)
async def test_nothing_is_never_something(tmux: Tmux, ids: dict[str, str], kind: str) -> None:
    for text in ("", ":", ".", "=", "=:", ":.", " "):
        with pytest.raises(BadInput, match=f"The {kind} is empty"):
            await resolve(tmux, kind, text)


@pytest.mark.parametrize("kind", NAMED)
async def test_no_part_pattern_or_special_word_is_a_target(
    tmux: Tmux, ids: dict[str, str], kind: str
) -> None:
    close = ("de", "deve", "dev*", "d?v", "[d]ev", "DEV", "{last}", "!", "+", "-", "~", "@", "$", "%", "*")
    inside = ("dev:ed", "dev:e*", "dev:99", "dev:^", "dev:$", "dev:{start}", "dev:0.9", "dev:0.", "dev:-1")
    for text in (*close, *inside, "nope:0", ":0", "edit", "$99:0", "dev:0.{top}", "develop:a.1"):
        with pytest.raises(NotFound) as caught:
            await resolve(tmux, kind, text)
        assert (caught.value.noun, caught.value.wanted) == (kind, text)


@pytest.mark.parametrize("kind", ["window", "pane"])
async def test_a_name_that_several_windows_share_is_not_guessed(
    tmux: Tmux, ids: dict[str, str], kind: str
) -> None:
    with pytest.raises(Ambiguous, match=f"{ids['@dev:6']}, {ids['@dev:7']}. Use an id"):
        await resolve(tmux, kind, "dev:twin")


async def test_the_hub_is_no_target(tmux: Tmux, raw: Raw, ids: dict[str, str]) -> None:
    await tmux.sessions.list()
    [hub] = [name for name in raw("list-sessions", "-F", "#{session_name}").split() if "hub" in name]
    for kind in ("session", "window", "pane"):
        with pytest.raises(MuxpilotError):
            await resolve(tmux, kind, hub)
