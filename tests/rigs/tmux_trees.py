"""A second tmux for the tests: 3.5a from a Debian trixie tree, built once and kept in the user's cache."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

BUILD_LIMIT_S = 300

# `timeout` ends the whole process group, which subprocess's own limit does not.
MMDEBSTRAP = (
    *("timeout", "--kill-after=10", str(BUILD_LIMIT_S)),
    *("mmdebstrap", "--quiet", "--variant=extract", "--include=tmux", "trixie"),
)

# The tree's own loader runs its tmux: no namespace, so that pids, sockets and FIFOs are the host's and panes
# run the host's programs; and no variable (LD_LIBRARY_PATH, TERMINFO) that the panes would inherit.
WRAPPER = """\
#!/bin/sh
lib=${{0%/*}}/{lib}
exec "$lib/{loader}" --library-path "$lib" --argv0 tmux "${{0%/*}}/usr/bin/tmux" "$@"
"""


def _cache_folder() -> Path:
    home = os.environ.get("HOME")
    base = os.environ.get("XDG_CACHE_HOME") or (f"{home}/.cache" if home else None)
    return Path(base or Path(__file__).parents[2] / ".cache") / "muxpilot" / "tmux-trees"


# Read at import: fixtures give each test a HOME of its own.
CACHE = _cache_folder()


@cache
def second_tmux() -> Path | str:
    """Return the path of a tmux other than the system's, or the reason to skip where there is none.

    The first call downloads it: make that call outside of a test's time limit.
    """
    wrapper = CACHE / "trixie" / "tmux"
    try:
        if not wrapper.exists():
            CACHE.mkdir(parents=True, exist_ok=True)
            with (CACHE / "trixie.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not wrapper.exists():
                    _build(wrapper.parent)
        return wrapper
    except subprocess.CalledProcessError as failure:
        return f"no tmux 3.5a: {_reason(failure)}"
    except OSError as failure:
        return f"no tmux 3.5a: {failure}"


def _build(tree: Path) -> None:
    if not shutil.which("mmdebstrap"):
        raise FileNotFoundError("mmdebstrap is not installed")
    with tempfile.TemporaryDirectory(dir=tree.parent, prefix="building-") as scratch:
        new = Path(scratch) / "tree"
        _run(*MMDEBSTRAP, str(new))
        _run(str(_write_wrapper(new)), "-V")
        new.rename(tree)


def _write_wrapper(tree: Path) -> Path:
    loader = next(tree.glob("usr/lib/*-linux-gnu*/ld-linux-*.so.*"), None)
    if loader is None:
        raise FileNotFoundError(f"no loader known for a {os.uname().machine} tree")
    wrapper = tree / "tmux"
    wrapper.write_text(WRAPPER.format(lib=loader.parent.relative_to(tree), loader=loader.name))
    wrapper.chmod(0o755)
    return wrapper


def _reason(failure: subprocess.CalledProcessError) -> str:
    if failure.returncode == 124:
        return f"building its tree took longer than {BUILD_LIMIT_S} s"
    first_line = failure.stderr.strip().partition("\n")[0]
    return f"building its tree failed: {first_line or f'exit status {failure.returncode}'}"


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
