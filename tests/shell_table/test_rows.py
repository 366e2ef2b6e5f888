"""The table of shells is complete: each script belongs to a row, and each row to its shell."""

from __future__ import annotations

import shutil
import subprocess
from importlib import resources
from pathlib import Path

import pytest

from muxpilot.shell_table import SHELLS, ShellKind, exit_code
from muxpilot.shell_table.integration import one_line, prompt_text, shell_of_versions, start_text
from muxpilot.shell_table.startup import ShellStart, start_with_marks, start_without_marks
from tests.rigs.waiting import LIMIT_S

STARTED = [shell for shell in SHELLS.values() if shell.start_line]


def test_every_script_belongs_to_a_row() -> None:
    folder = resources.files("muxpilot.shell_table") / "scripts"
    used = {
        script
        for shell in SHELLS.values()
        for script in (shell.script, shell.typed_script, shell.start_script)
        if script
    }
    assert {file.name for file in folder.iterdir()} == used


def test_no_program_belongs_to_two_rows() -> None:
    programs = [name for shell in SHELLS.values() for name in shell.programs]
    assert len(programs) == len(set(programs))


@pytest.mark.parametrize("text", [start_with_marks(), start_without_marks()])
def test_the_launchers_text_is_understood_by_sh(text: str) -> None:
    subprocess.run(["/bin/sh", "-n", "-c", text], check=True, timeout=LIMIT_S)


@pytest.mark.parametrize("shell", STARTED, ids=lambda shell: shell.name)
def test_a_shell_understands_its_scripts(shell: ShellKind) -> None:
    program = shutil.which(shell.installed_as)
    if program is None:
        pytest.skip(f"no {shell.installed_as} here")
    applet = ["sh"] if shell.installed_as == "busybox" else []
    for text in (start_text(shell, "0" * 32), prompt_text(shell, "0" * 32, line_holds="file", wipe="")):
        assert "@" not in text.replace("@P}", "").replace("[@]", "").replace("(@", "")
        subprocess.run([program, *applet, "-n"], input=text.encode(), check=True, timeout=LIMIT_S)


@pytest.mark.parametrize("shell", SHELLS.values(), ids=lambda shell: shell.name)
def test_a_script_fits_into_one_line_of_a_terminal(shell: ShellKind) -> None:
    if shell.script:
        text = prompt_text(shell, "0" * 32, line_holds="0" * 16, wipe="0" * 100)
        assert len(one_line(text)) < 4000  # Linux cuts a line at 4095 bytes
        assert "\n#" not in text  # comments cost bytes too


def test_a_new_shell_finds_a_file_whichever_it_is(tmp_path: Path) -> None:
    start = ShellStart(tmp_path / "start")
    for shell in STARTED:
        assert start.nonce in (start.folder / shell.start_file).read_text()


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("5.2.15(1)-release,,,", "bash"),
        (",5.9,,", "zsh"),
        (",,3.7.1,", "fish"),
        (",,,@(#)MIRBSD KSH R59 2020/10/31", "mksh"),
        (",,,Version AJM 93u+m/1.0.8 2024-01-01", "sh"),
        (",,,", "sh"),
        ("", "sh"),
    ],
)
def test_a_shell_is_known_by_the_version_that_it_tells(answer: str, name: str) -> None:
    assert shell_of_versions(answer).name == name


@pytest.mark.parametrize(("status", "code"), [(0, 0), (130, 130), (255, 255), (258, 130), (265, 137)])
def test_a_status_is_the_same_in_every_shell(status: int, code: int) -> None:
    assert exit_code(status) == code
