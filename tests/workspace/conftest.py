"""A private tmux without a session, for muxpilots that make their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rigs.wire import Place, private_place


@pytest.fixture
def place() -> Iterator[Place]:
    with private_place() as made:
        yield made
