"""A private tmux for muxpilots that come and go, and commands whose course is known from files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rigs.wire import Place, private_place
from tests.rigs.witness import Witness

# The promises of issue 15 that are not kept yet.
not_yet = pytest.mark.xfail(strict=True, raises=(AssertionError, TimeoutError), reason="not built yet")

# At some moments a promise is kept already.
not_always = pytest.mark.xfail(raises=(AssertionError, TimeoutError), strict=False, reason="not built yet")


@pytest.fixture
def place() -> Iterator[Place]:
    with private_place() as made:
        made.tmux("new-session", "-d", "-s", "keeper", "cat")
        yield made


@pytest.fixture
def witness(place: Place) -> Witness:
    return Witness(Path(place.socket).with_name("witness"))
