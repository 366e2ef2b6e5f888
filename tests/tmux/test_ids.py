"""Ids are types; any other text is refused."""

from __future__ import annotations

import pytest

from muxpilot.errors import BadInput
from muxpilot.tmux import PaneId, SessionId, WindowId

KINDS = (SessionId, WindowId, PaneId)


@pytest.mark.parametrize("kind", KINDS)
def test_an_id_is_its_text(kind: type[SessionId | WindowId | PaneId]) -> None:
    assert kind(f"{kind.sigil}12") == f"{kind.sigil}12"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "{}x",
        "1",
        "{}-1",
        "{}1\n",
        " {}1",
        "{}1;",
        "{}٣",
        "{}01",
        "{}00",
        "{}" + "1" * 11,
        "={}1",
        "{{last}}",
    ],
)
def test_what_is_no_id_is_refused(kind: type[SessionId | WindowId | PaneId], text: str) -> None:
    with pytest.raises(BadInput, match=f"A {kind.noun} id looks like"):
        kind(text.format(kind.sigil))


@pytest.mark.parametrize("kind", KINDS)
def test_the_id_of_another_kind_is_refused(kind: type[SessionId | WindowId | PaneId]) -> None:
    for other in KINDS:
        assert kind.matches(f"{other.sigil}1") == (other is kind)
