"""A private tmux for muxpilots that come and go, and commands whose course is known from files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rigs.wire import Place, private_place
from tests.rigs.witness import Witness


@pytest.fixture
def place() -> Iterator[Place]:
    with private_place() as made:
        made.tmux("new-session", "-d", "-s", "keeper", "cat")
        yield made


@pytest.fixture
def witness(place: Place) -> Witness:
    return Witness(Path(place.socket).with_name("witness"))
