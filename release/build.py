"""Build everything that is released into dist/: `./dev release`. The same commit gives the same files."""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from muxpilot.cli.arguments import build_parser
from muxpilot.cli.completion import SCRIPTS
from muxpilot.cli.parser_facts import read_parser
from release.sbom import bill  # the root is not on the path of a script
from release.versions import ROOT, project_version, source_date

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# Wheels for these platforms are taken where the machine is Linux; elsewhere those of the running Python only.
_LINUX = ("manylinux_2_17", "manylinux2014", "manylinux_2_28", "manylinux_2_27", "manylinux_2_24")


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev release", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR", help="the folder (dist)")
    parser.add_argument("--no-app", action="store_true", help="without muxpilot.pyz, which needs an index")
    arguments = parser.parse_args()
    date = int(os.environ.get("SOURCE_DATE_EPOCH") or source_date())
    os.environ["SOURCE_DATE_EPOCH"] = str(date)
    out: Path = arguments.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    wheel = build_packages(out)
    pack(out / "muxpilot.mcpb", files_below(ROOT / "mcpb"), date)
    (out / "muxpilot.cdx.json").write_text(bill(ROOT, project_version(), date))
    shutil.copy(ROOT / "docs/muxpilot.1", out)
    for shell, script in SCRIPTS.items():
        (out / f"muxpilot.{shell}").write_text(script(read_parser(build_parser())))
    if not arguments.no_app:
        build_app(out / "muxpilot.pyz", wheel, date)
    rows = [f"{digest_of(path)}  {path.name}\n" for path in sorted(out.iterdir())]
    (out / "SHA256SUMS").write_text("".join(rows))
    print("".join(rows), end="")
    return 0


def build_packages(out: Path) -> Path:
    """Build sdist and wheel with the hatchling that is installed, check them, and return the wheel."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT))
    [wheel] = out.glob("*.whl")
    [sdist] = out.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist))
    return wheel


def build_app(target: Path, wheel: Path, date: int) -> None:
    """Build one file that needs Python and nothing else: muxpilot and its libraries for several Pythons."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        install(folder / "all", [str(wheel)], "--no-deps")
        pythons = [name for name in PYTHONS if add_libraries(folder, wheel, name)]
        files = dict(files_below(folder))
        digest = hashlib.sha256(b"".join(name.encode() + data for name, data in sorted(files.items())))
        files["pythons.txt"] = " ".join("py" + name.replace(".", "") for name in pythons).encode()
        files["digest.txt"] = digest.hexdigest()[:16].encode()
        files["__main__.py"] = (Path(__file__).parent / "start_app.py").read_bytes()
        pack(target, files.items(), date, head=b"#!/usr/bin/env python3\n")
    target.chmod(0o755)


def add_libraries(folder: Path, wheel: Path, python: str) -> bool:
    """Install the libraries for a Python. Return whether the index has them."""
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    place = folder / ("py" + python.replace(".", ""))
    flags = ["--python-version", python]
    if sys.platform == "linux":
        machine = os.uname().machine
        flags += [word for name in _LINUX for word in ("--platform", f"{name}_{machine}")]
    elif python != here:
        return False
    try:
        install(place, [f"{wheel}[http]"], *flags)
    except subprocess.CalledProcessError:
        print(
            f"release: muxpilot.pyz is without Python {python}: not all libraries are there", file=sys.stderr
        )
        shutil.rmtree(place, ignore_errors=True)
        return False
    for path in place.glob("muxpilot*"):
        shutil.rmtree(path)
    return True


def install(place: Path, packages: list[str], *flags: str) -> None:
    """Install wheels into a folder, without the programs and the compiled code that pip adds."""
    words = ["--quiet", "--no-compile", "--only-binary", ":all:", "--target", str(place)]
    run(sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *words, *flags, *packages)
    for name in ("bin", "share"):
        shutil.rmtree(place / name, ignore_errors=True)
    for path in place.glob("*.dist-info"):
        for name in ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json"):
            (path / name).unlink(missing_ok=True)


def files_below(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a folder by their names, in order."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def pack(target: Path, files: Iterable[tuple[str, bytes]], date: int, *, head: bytes = b"") -> None:
    """Write a zip file whose bytes depend on the files and the date only."""
    moment = time.gmtime(max(date, 315532800))[:6]  # zip begins in 1980
    with target.open("wb") as stream:
        stream.write(head)
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in sorted(files):
                row = zipfile.ZipInfo(name, moment)
                row.external_attr = (stat.S_IFREG | 0o644) << 16
                row.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(row, data)


def digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run(*argv: str) -> None:
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, cwd=ROOT)


if __name__ == "__main__":
    raise SystemExit(main())
