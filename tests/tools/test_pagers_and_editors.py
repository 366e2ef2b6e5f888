"""Commands that open a pager or an editor never hang: answers say what is in front and how to leave it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.rigs.mcp_client import Rig
from tests.rigs.mcp_fixtures import Shell
from tests.rigs.waiting import LIMIT_S, within

pytestmark = pytest.mark.asyncio(loop_scope="module")

SOON_S = 10.0
LEAVE_VI = "Escape : q ! Enter"


def find_program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.fixture
def repository(tmp_path: Path) -> str:
    """Return the command that makes a repository with some commits and goes there."""
    find_program("git")
    numbers = " ".join(map(str, range(1, 13)))
    start = f"cd {tmp_path} && git init -q . && git config user.name n && git config user.email e@x"
    return f"{start} && for n in {numbers}; do git commit -q --allow-empty -m one-$n; done"


@pytest.fixture
def editor_link(tmp_path: Path) -> Path:
    """Return a folder with `editor`, a link to vi as Debian has it, and a stand-in for crontab."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "editor").symlink_to(find_program("vim"))
    (folder / "crontab").write_text(f"#!/bin/sh\nexec {folder}/editor {tmp_path}/table\n")
    (folder / "crontab").chmod(0o755)
    return folder


async def leave(rig: Rig, pane: str, keys: str) -> None:
    """Press the keys that a reason names; the shell must be at its prompt then."""
    answer = await rig.call(
        "send-keys", paneId=pane, keys=keys, literal=False, until="prompt", timeoutMs=round(1000 * LIMIT_S)
    )
    assert (answer["event"], answer["waitingFor"]) == ("prompt", "shell"), answer


async def test_the_pager_of_git_is_told_by_name(rig: Rig, pane: Shell, repository: str) -> None:
    find_program("less")
    made = await pane()
    await rig.call("execute-command", paneId=made.pane, command=repository, timeoutSeconds=60)
    with within(SOON_S):
        answer = await rig.call("execute-command", paneId=made.pane, command="GIT_PAGER=less git log")
    assert (answer["status"], answer["waitingFor"]) == ("running", "pager")
    assert answer["reason"] == "The pager less is in front. Leave it with q."
    assert "one-12" in answer["screen"]
    await leave(rig, made.pane, "q")
    ended = await rig.call("get-command-result", commandId=answer["commandId"], waitMs=10_000)
    assert ended["status"] == "completed"


async def test_the_pager_of_man_is_told_by_name(rig: Rig, pane: Shell, tmp_path: Path) -> None:
    find_program("man")
    page = tmp_path / "some.1"
    page.write_text(".TH SOME 1\n.SH NAME\nsome \\- a page\n" + ".PP\nmany lines\n" * 200)
    made = await pane()
    command = f"MANPAGER=less man {page}"
    with within(SOON_S):
        answer = await rig.call("execute-command", paneId=made.pane, command=command)
    assert answer["waitingFor"] == "pager"
    assert "Leave it with q" in answer["reason"]
    await leave(rig, made.pane, "q")


async def test_the_editor_of_git_rebase_is_told_by_name(rig: Rig, pane: Shell, repository: str) -> None:
    find_program("vi")
    made = await pane()
    await rig.call("execute-command", paneId=made.pane, command=repository, timeoutSeconds=60)
    with within(SOON_S):
        command = "GIT_EDITOR=vi git rebase -i --root"
        answer = await rig.call("execute-command", paneId=made.pane, command=command)
    assert (answer["status"], answer["waitingFor"]) == ("running", "editor")
    assert answer["reason"] == f"The editor vi is in front. Leave it with {LEAVE_VI}."
    assert "pick" in answer["screen"]
    await leave(rig, made.pane, LEAVE_VI)


async def test_a_link_to_an_editor_is_told_by_the_program_that_runs(
    rig: Rig, pane: Shell, editor_link: Path
) -> None:
    made = await pane()
    with within(SOON_S):
        answer = await rig.call(
            "execute-command", paneId=made.pane, command=f"PATH={editor_link}:$PATH crontab -e"
        )
    assert answer["waitingFor"] == "editor"
    assert answer["reason"].startswith("The editor vim")
    assert answer["reason"].endswith(f"Leave it with {LEAVE_VI}.")
    await leave(rig, made.pane, LEAVE_VI)


async def test_all_that_looks_at_a_pane_names_the_pager(rig: Rig, pane: Shell) -> None:
    find_program("less")
    made = await pane()
    asked = await rig.call(
        "send-keys", paneId=made.pane, keys="seq 500 | less", enter=True, until="user_input", timeoutMs=15_000
    )
    words = "The pager less is in front. Leave it with q."
    assert (asked["waitingFor"], asked["reason"]) == ("pager", words)
    state = await rig.call("pane-state", paneId=made.pane)
    assert (state["waitingFor"], state["note"]) == ("pager", words)
    watched = await rig.call("watch-pane", paneId=made.pane, triggers="user_input", timeout=15)
    assert watched["detail"] == words
    assert "The pager less" in await rig.fails("execute-command", paneId=made.pane, command="true")
    await leave(rig, made.pane, "q")
