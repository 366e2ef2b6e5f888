"""A muxpilot is killed at random moments while commands run in ten panes, and started again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rigs.restarts import Restarts
from tests.rigs.wire import Place, private_place
from tests.rigs.witness import Witness, find_disorder, find_repeated, find_untruth


@pytest.mark.timeout(180)
async def test_every_command_is_told_truly_after_fifty_restarts(tmp_path: Path) -> None:
    with private_place() as place:
        report = await Restarts(place, seed=50, logs=tmp_path).run(50)
    assert report.faults == [], f"{report}\nlogs: {tmp_path}"


ANSWER = {"exitCode": 0, "output": "quick-1\n", "outputTruncated": False}
LOST = {"status": "lost", "exitCode": None, "output": "", "outputTruncated": False}


@pytest.mark.parametrize(
    ("answer", "begun", "ended", "untruth"),
    [
        ({**ANSWER, "status": "completed"}, 1, 1, None),
        ({**ANSWER, "status": "completed"}, 2, 1, "ran 2 times"),
        ({**ANSWER, "status": "completed"}, 0, 0, "began 0"),
        ({**ANSWER, "status": "failed"}, 1, 1, "told as failed"),
        ({**ANSWER, "status": "completed", "output": "quick-2\n"}, 1, 1, "from 6 on '2\\n'"),
        ({**ANSWER, "status": "completed", "outputTruncated": True}, 1, 1, "truncated True"),
        ({**ANSWER, "status": "running"}, 1, 1, "told as running"),
        ({**LOST, "reason": "It was not run: its shell has ended."}, 0, 0, None),
        ({**LOST, "reason": "It was not run: its shell has ended."}, 1, 0, "ran, but"),
        ({**LOST, "reason": "The pane has ended."}, 1, 0, None),
        ({**LOST, "reason": None}, 0, 0, "without a reason"),
    ],
)
def test_an_untrue_answer_is_found(
    witness: Witness, answer: dict[str, object], begun: int, ended: int, untruth: str | None
) -> None:
    found = find_untruth(witness.make_command("quick", "%1"), answer, begun=begun, ended=ended)
    assert found == untruth if untruth is None else untruth in str(found)


def test_another_order_than_that_of_the_list_is_found(place: Place, witness: Witness) -> None:
    listed = [witness.make_command("quick", pane) for pane in ("%1", "%2", "%1")]
    assert find_disorder(listed, [1, 2, 3]) == []
    assert find_disorder(listed, [2, 1, 3]) == []
    assert find_disorder(listed, [2, 3, 1]) == ["%1: listed [1, 3], ran [3, 1]"]
    assert find_repeated([1, 2, 1]) == [1]
