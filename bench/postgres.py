"""A private PostgreSQL for one play of `intents.py`: on a socket in a folder of its own, without a port."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Debian keeps the programs of the server out of the PATH, a folder for each version.
PROGRAMS = [str(path) for path in sorted(Path("/usr/lib/postgresql").glob("*/bin"))]
SEARCH_PATH = os.pathsep.join((*reversed(PROGRAMS), os.environ["PATH"]))
NOBODY = 65534
_LIMIT_S = 60


@contextmanager
def run_postgres(home: Path, statements: str) -> Iterator[None]:
    """Run a server with the database `shop`, filled by statements. `psql service=shop` finds it from `home`.

    PostgreSQL refuses to run as root, so then it runs as nobody.
    """
    folder = Path(tempfile.mkdtemp(prefix="mx-postgres-", dir="/tmp"))
    try:
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        data = folder / "data"
        run("initdb", "-D", data, "-U", "bench", "-A", "trust", "-N", cwd=folder)
        options = f"-k {folder} -c listen_addresses= -c fsync=off"
        run("pg_ctl", "-D", data, "-o", options, "-l", folder / "log", "-w", "start", cwd=folder)
        try:
            run("createdb", "-h", folder, "-U", "bench", "shop", cwd=folder)
            run("psql", "-q", "-h", folder, "-U", "bench", "-c", statements, "shop", cwd=folder)
            (home / ".pg_service.conf").write_text(f"[shop]\nhost={folder}\nuser=bench\ndbname=shop\n")
            yield
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop", cwd=folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(program: str, *arguments: str | Path, cwd: Path) -> None:
    """Run a program of PostgreSQL to its end, not as root."""
    found = shutil.which(program, path=SEARCH_PATH)
    if found is None:
        raise FileNotFoundError(program)
    who: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    subprocess.run(
        (found, *arguments), cwd=cwd, check=True, timeout=_LIMIT_S, stdout=subprocess.DEVNULL, **who
    )
