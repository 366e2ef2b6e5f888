"""The version, in every file that carries it. `./dev version` prints it, `./dev version 1.2.3` writes it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_NUMBER = r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?"
# Each file, and the text in front of a version. pyproject.toml is the one that counts.
PLACES = [
    ("pyproject.toml", r'^version = "'),
    ("src/muxpilot/__init__.py", r'^__version__ = "'),
    ("server.json", r'^ +"version": "'),
    ("mcpb/manifest.json", r'^ +"version": "'),
    ("mcpb/pyproject.toml", r'^version = "|"muxpilot=='),
    (".claude-plugin/plugin.json", r'^ +"version": "'),
    ("nix/package.nix", r'^ +version = "'),
    ("docs/muxpilot.1", r'^\.TH .*"muxpilot '),
]


def project_version() -> str:
    """Return the version in pyproject.toml."""
    return versions_in("pyproject.toml", PLACES[0][1])[0]


def versions_in(name: str, before: str) -> list[str]:
    """Return the versions that a file carries."""
    return re.findall(rf"(?:{before})({_NUMBER})", (ROOT / name).read_text(), re.MULTILINE)


def set_version(version: str) -> None:
    """Write a version to every file."""
    if not re.fullmatch(_NUMBER, version):
        raise SystemExit(f"{version!r} is no version such as 1.2.3 or 1.2.3rc1")
    for name, before in PLACES:
        path = ROOT / name
        text = re.sub(
            rf"({before}){_NUMBER}", lambda found: found[1] + version, path.read_text(), flags=re.MULTILINE
        )
        path.write_text(text)
        print(f"{name}: {version}")


def source_date() -> int:
    """Return the time that goes into files: the last commit's, so that a build can be repeated."""
    argv = ["git", "log", "-1", "--format=%ct"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    return int(done.stdout) if done.returncode == 0 and done.stdout.strip() else 1_700_000_000


if __name__ == "__main__":
    if len(sys.argv) > 1:
        set_version(sys.argv[1])
    else:
        print(project_version())
