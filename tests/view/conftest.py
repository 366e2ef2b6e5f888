"""A browser for all tests of a module."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.rigs.browser import BrowserTab, start_browser


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[BrowserTab]:
    async with start_browser() as tab:
        yield tab
