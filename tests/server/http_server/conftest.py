"""One HTTP server for each module, with a token, for tests that must not harm it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.rigs.http_server import TOKEN, HttpClient, serving_http
from tests.rigs.wire import Place, private_place


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with private_place() as place:
        yield place


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def web(place: Place) -> AsyncIterator[HttpClient]:
    async with serving_http(place, token=TOKEN) as (web, _):
        yield web


@pytest_asyncio.fixture(loop_scope="module")
async def pane(web: HttpClient, place: Place) -> str:
    return place.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "cat")
