"""Programs with a prompt that this machine has."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

# Wrappers of version managers need the environment, which tests clear.
_ENVIRONMENT = dict(os.environ)
_PATH = _ENVIRONMENT.get("PATH")


@cache
def python(version: str) -> str:
    """Return the interpreter of this version, not a wrapper of it. Skip the test if there is none."""
    beside = sorted(Path(sys.base_prefix).parent.glob(f"*/bin/python{version}"))
    for found in (shutil.which(f"python{version}", path=_PATH), *map(str, beside)):
        if found is not None and (interpreter := _find_interpreter(found)):
            return interpreter
    pytest.skip(f"there is no python{version} here")


def _find_interpreter(wrapper: str) -> str | None:
    argv = [wrapper, "-c", "import sys; print(sys.executable)"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=True, env=_ENVIRONMENT)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


@cache
def ipython() -> str:
    """Return the command line of IPython. Skip the test if there is none."""
    for interpreter in (sys.executable, python(f"{sys.version_info.major}.{sys.version_info.minor}")):
        done = subprocess.run([interpreter, "-c", "import IPython"], capture_output=True, check=False)
        if done.returncode == 0:
            return f"{interpreter} -m IPython"
    pytest.skip("no Python here has IPython")


def program(name: str) -> str:
    """Return the path of a program. Skip the test if there is none."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"there is no {name} here")
    return found


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """Start a private PostgreSQL server and yield the command line of a psql for it."""
    psql = program("psql")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = shutil.which("initdb") or (str(found[-1]) if found else None)
    if initdb is None:
        pytest.skip("there is no PostgreSQL server here")
    user = _postgres_uid()
    data = folder / "pg"
    data.mkdir()
    if user is not None:
        for path in {folder, folder.parent} - {Path("/tmp")}:  # the server runs as another user
            os.chmod(path, 0o755)
        os.chown(data, user, -1)

    def run(*argv: str) -> None:
        subprocess.run(argv, check=True, timeout=40, user=user, cwd="/", stdout=subprocess.DEVNULL)

    control = str(Path(initdb).with_name("pg_ctl"))
    run(initdb, "-D", f"{data}/d", "-A", "trust", "-N", "-U", "tester")
    options = f"-k {data} -c listen_addresses= -F"
    run(control, "-D", f"{data}/d", "-o", options, "-l", f"{data}/log", "-w", "start")
    try:
        yield f"{psql} -X -h {data} -U tester -d postgres"
    finally:
        run(control, "-D", f"{data}/d", "-m", "immediate", "stop")


def _postgres_uid() -> int | None:
    """Return the user that runs the server if we are root, because PostgreSQL refuses to run as root."""
    if os.getuid():
        return None
    try:
        return pwd.getpwnam("postgres").pw_uid
    except KeyError:
        pytest.skip("root cannot run PostgreSQL, and there is no user for it")
