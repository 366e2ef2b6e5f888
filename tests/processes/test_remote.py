"""The state of a pane on another host, from what `ps` and `stty` print there."""

from __future__ import annotations

import pytest

from muxpilot.processes.remote import parse_remote_state, read_remote_state

RAW = ["stty", "speed 38400 baud; rows 50;", "-icanon iexten -echo echoe; icrnl"]
EDITED = ["stty", "-icanon iexten -echo echoe; -icrnl"]
COOKED = ["stty", "icanon iexten echo echoe; icrnl"]
HIDDEN = ["stty", "icanon iexten -echo echoe; icrnl"]
SHELL = "  10    10    10 Ss+  wait_woken -bash"
BEHIND = "  10    10    20 Ss   do_wait -bash"

CASES = {
    "a shell at its prompt": ([SHELL, *EDITED], "shell", True),
    "a program that sleeps": ([BEHIND, "20 20 20 S+ hrtimer_nanosleep sleep 5", *COOKED], None, True),
    "a program that reads": ([BEHIND, "20 20 20 S+ wait_woken cat", *COOKED], "line", True),
    "a password": ([BEHIND, "20 20 20 S+ wait_woken sudo ls", *HIDDEN], "password", True),
    "a socket, perhaps": ([BEHIND, "20 20 20 S+ wait_woken client", "socket 20", *COOKED], None, False),
    "a full screen": ([BEHIND, "20 20 20 S+ poll_schedule_timeout.constprop.0 vim x", *RAW], "editor", True),
    "what runs": ([BEHIND, "20 20 20 R+ - make", *COOKED], None, True),
    "another ssh": ([BEHIND, "20 20 20 S+ poll_schedule_timeout ssh b", *RAW], None, False),
    "no ps": (["stty", *COOKED], None, False),
    "nothing": ([], None, False),
}


@pytest.mark.parametrize("case", CASES)
def test_a_far_state_is_judged(case: str) -> None:
    lines, waiting_for, is_known = CASES[case]
    state = parse_remote_state(lines, 10, "bash")
    assert (state.waiting_for, state.is_known) == (waiting_for, is_known), state.evidence


async def test_a_terminal_that_is_no_path_is_not_asked_about() -> None:
    async def run(script: str) -> list[str]:
        raise AssertionError(script)

    assert not (await read_remote_state(run, 1, "/dev/x; id", "bash")).is_known
