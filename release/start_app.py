"""The `__main__.py` of muxpilot.pyz: unpack muxpilot and its libraries once, and start it.

Libraries in C cannot be loaded from a zip file. They are unpacked into a folder of the user's cache that is
named after their content, with the form of a virtual environment: muxpilot also starts itself, by its Python.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path


def main() -> None:
    """Unpack if that was not done before, then become muxpilot."""
    archive = Path(sys.argv[0]).resolve()
    with zipfile.ZipFile(archive) as content:
        version = f"py{sys.version_info.major}{sys.version_info.minor}"
        pythons = content.read("pythons.txt").decode().split()
        if version not in pythons:
            sys.exit(f"muxpilot: this file is for {', '.join(pythons)}, and this Python is {version}.")
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        place = caches / "muxpilot" / "app" / f"{content.read('digest.txt').decode()}-{version}"
        if not place.exists():
            unpack(content, version, place)
    (place / "started-from").write_text(str(archive))
    python = str(place / "bin" / "python")
    os.execv(python, [python, "-P", "-m", "muxpilot", *sys.argv[1:]])


def unpack(content: zipfile.ZipFile, version: str, place: Path) -> None:
    """Unpack the libraries for this Python. Another process that does the same is not in the way."""
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    scratch = Path(tempfile.mkdtemp(dir=place.parent))
    try:
        library = (
            scratch / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
        )
        for name in content.namelist():
            part, _, path = name.partition("/")
            if part in ("all", version) and path and not name.endswith("/"):
                target = library / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read(name))
        (scratch / "bin").mkdir()
        base = Path(getattr(sys, "_base_executable", "") or sys.executable)
        (scratch / "bin" / "python").symlink_to(base)
        (scratch / "pyvenv.cfg").write_text(f"home = {base.parent}\ninclude-system-site-packages = false\n")
        os.rename(scratch, place)
    except OSError:
        shutil.rmtree(scratch, ignore_errors=True)
        if not place.exists():
            raise


main()
