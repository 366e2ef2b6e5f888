"""`muxpilot completion`: bash, zsh and fish complete the command line; the man page can be read."""

from __future__ import annotations

import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from muxpilot.cli.completion import SCRIPTS
from tests.cli.conftest import Run
from tests.rigs.waiting import eventually
from tests.rigs.wire import Place

LIMIT_S = 50
ROOT = Path(__file__).parents[2]
# What is typed, and words that must and must not be offered for the last word.
CASES = [
    (["muxpilot", "ins"], {"install"}, {"logs"}),
    (["tmux-mcp", "lo"], {"logs"}, {"install"}),
    (["muxpilot", "--scope", "a"], {"agentic", "all"}, {"classic"}),
    (["muxpilot", "--scope", "all", "install", "g"], {"gemini", "goose"}, {"claude", "logs"}),
    (["muxpilot", "install", "--u"], {"--user", "--uninstall"}, {"--print"}),
    (["muxpilot", "call", "read-"], {"read-pane", "read-screen"}, {"capture-pane"}),
    (["muxpilot", "replay", "rec"], {"recorded.cast"}, {"install"}),
    (["muxpilot", "--config", "rec"], {"recorded.cast"}, {"install"}),
]


@pytest.fixture
def script(run: Run, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return a file with the script for the shell of the test."""
    shell: str = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    code, out, err = run("completion", shell)
    assert (code, err) == (0, "")
    path = tmp_path / f"completion.{shell}"
    path.write_text(out)
    (tmp_path / "recorded.cast").touch()
    return path


def offers(shell: str, program: str, folder: Path) -> set[str]:
    argv = [shell, *(["--norc"] if shell == "bash" else ["--no-config"]), "-c", program]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=LIMIT_S, cwd=folder)
    assert done.stderr == ""
    return {line.partition("\t")[0] for line in done.stdout.splitlines()}


@pytest.mark.parametrize("script", ["bash"], indirect=True)
@pytest.mark.parametrize(("words", "wanted", "unwanted"), CASES)
def test_bash_completes(script: Path, words: list[str], wanted: set[str], unwanted: set[str]) -> None:
    typed = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}"
    found = offers(
        "bash", f"source {script}; {typed}; _muxpilot; printf '%s\\n' \"${{COMPREPLY[@]}}\"", script.parent
    )
    assert wanted <= found
    assert not unwanted & found


@pytest.mark.parametrize("script", ["fish"], indirect=True)
@pytest.mark.parametrize(("words", "wanted", "unwanted"), CASES)
def test_fish_completes(script: Path, words: list[str], wanted: set[str], unwanted: set[str]) -> None:
    found = offers("fish", f"source {script}; complete -C '{' '.join(words)}'", script.parent)
    assert wanted <= found
    assert not unwanted & found


# The two ways that docs/installing.md and the script itself name.
ZSH_LOADS = {
    "sourced": "autoload -Uz compinit; compinit -u -d FOLDER/dump; source FOLDER/completion.zsh",
    "found in fpath": "fpath+=FOLDER/zfunc; autoload -Uz compinit; compinit -u -d FOLDER/dump",
}


@pytest.mark.parametrize("load", ZSH_LOADS)
@pytest.mark.parametrize("script", ["zsh"], indirect=True)
async def test_zsh_completes(script: Path, place: Place, load: str) -> None:
    """Type into a zsh in a pane, because zsh completes in its line editor only."""
    folder = script.parent
    place.tmux("new-session", "-d", "-s", "z", "-x", "100", "-c", str(folder), "-e", "PS1=> ", "zsh", "-f")
    (folder / "zfunc").mkdir()
    shutil.copy(script, folder / "zfunc" / "_muxpilot")
    start = ZSH_LOADS[load].replace("FOLDER", str(folder))
    place.tmux("send-keys", "-t", "z", f"{start}; echo rea''dy", "Enter")

    async def is_shown(words: str) -> bool:
        return words in place.tmux("capture-pane", "-p", "-t", "z")

    await eventually(lambda: is_shown("\nready"), limit_s=LIMIT_S)
    rows = [
        ("muxpilot inst", "> muxpilot install"),
        ("tmux-mcp --scope prim", "> tmux-mcp --scope primitives"),
        ("muxpilot --scope all install gem", "install gemini"),
        ("muxpilot install --unin", "> muxpilot install --uninstall"),
        ("muxpilot call read-p", "> muxpilot call read-pane"),
        ("muxpilot replay rec", "> muxpilot replay recorded.cast"),
    ]
    for typed, wanted in rows:
        place.tmux("send-keys", "-t", "z", "-l", typed)
        place.tmux("send-keys", "-t", "z", "Tab")
        await eventually(partial(is_shown, wanted), limit_s=LIMIT_S)
        place.tmux("send-keys", "-t", "z", "C-u")


@pytest.mark.parametrize("shell", SCRIPTS)
def test_a_shell_reads_its_script_without_complaint(run: Run, tmp_path: Path, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    path = tmp_path / "script"
    path.write_text(run("completion", shell)[1])
    done = subprocess.run([shell, "-n", path], capture_output=True, timeout=LIMIT_S, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_man_page_is_good_roff() -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    argv: list[str | Path] = ["groff", "-man", "-ww", "-z", "-Tutf8", ROOT / "docs/muxpilot.1"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert (done.returncode, done.stderr) == (0, "")
