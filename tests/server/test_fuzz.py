"""Random and half-right messages over stdio and HTTP in both eras: a little of `./dev proof messages`."""

from __future__ import annotations

import random

import pytest

from bench.fuzz_protocol import ERAS, Findings, fuzz_http, fuzz_stdio

MESSAGES = 600


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("fuzz", [fuzz_stdio, fuzz_http], ids=["stdio", "http"])
async def test_whatever_comes_is_answered_as_the_sdk_would(fuzz: object, era: str) -> None:
    seed = random.randrange(10**6)
    run = fuzz_stdio if fuzz is fuzz_stdio else fuzz_http
    found: Findings = await run(MESSAGES, seed, era)
    assert found.wrong == [], f"seed {seed}"
    assert found.answered > MESSAGES // 4
