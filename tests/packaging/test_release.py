"""What is released: one version everywhere, builds that can be repeated, and installs without an index."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import muxpilot
from tests.packaging.conftest import run_program

ROOT = Path(__file__).parents[2]
LIMIT_S = 280
LICENSE = "MIT AND OFL-1.1"
_ENVIRONMENT = dict(os.environ)  # read at import: fixtures give each test a HOME of its own
VERSIONS = runpy.run_path(str(ROOT / "release/versions.py"))


def call(*argv: str | Path, **variables: str) -> str:
    return run_program(argv, _ENVIRONMENT | variables, limit_s=LIMIT_S).stdout


def build(root: Path, out: Path) -> Path:
    """Build everything but the app, which needs an index, from a copy of the sources."""
    call(
        sys.executable,
        "-P",
        root / "release/build.py",
        "--no-app",
        "--out",
        out,
        SOURCE_DATE_EPOCH="1700000000",
    )
    return out


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what is released."""
    return build(ROOT, tmp_path_factory.mktemp("release") / "dist")


def test_every_file_carries_the_version_of_the_project() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert muxpilot.__version__ == wanted
    found = {name: VERSIONS["versions_in"](name, before) for name, before in VERSIONS["PLACES"]}
    assert {version for versions in found.values() for version in versions} == {wanted}, found
    assert all(found.values())


def test_every_file_names_the_same_licence() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = (".claude-plugin/plugin.json", "mcpb/manifest.json")
    found = [json.loads((ROOT / name).read_text())["license"] for name in names]
    assert {*found, project["license"]} == {LICENSE}
    nix = (ROOT / "nix/package.nix").read_text()
    assert "lib.licenses.mit" in nix
    assert "lib.licenses.ofl" in nix


@pytest.mark.timeout(3 * LIMIT_S)
def test_the_same_sources_give_the_same_bytes(built: Path, tmp_path: Path) -> None:
    """Build again from a copy in another folder, whose files have other times."""
    ignored = shutil.ignore_patterns(
        ".git", ".venv", "dist", "__pycache__", ".*_cache", ".cache", ".hypothesis"
    )
    copy = shutil.copytree(ROOT, tmp_path / "other", ignore=ignored, copy_function=shutil.copy)
    again = build(copy, tmp_path / "again")
    assert (again / "SHA256SUMS").read_text() == (built / "SHA256SUMS").read_text()


@pytest.mark.timeout(2 * LIMIT_S)
def test_the_wheel_has_each_licence_once_and_no_links_to_files(built: Path) -> None:
    [path] = built.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        licences = [name for name in names if "LICENSE" in name]
        assert len(licences) == 3
        assert all(".dist-info/licenses/" in name for name in licences)
        assert any(name.endswith("share/man/man1/muxpilot.1") for name in names)
        [told] = [wheel.read(name).decode() for name in names if name.endswith(".dist-info/METADATA")]
    assert f"License-Expression: {LICENSE}\n" in told
    assert "](docs/" not in told
    assert "mcp-name: " in told
    assert "Project-URL: " in told


@pytest.mark.timeout(2 * LIMIT_S)
def test_the_source_package_has_what_a_build_needs(built: Path) -> None:
    [path] = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "release/readme_hook.py",
        "docs/muxpilot.1",
        "dev",
    } <= names


@pytest.mark.timeout(2 * LIMIT_S)
def test_the_bill_of_materials_names_every_library(built: Path) -> None:
    content = json.loads((built / "muxpilot.cdx.json").read_text())
    assert (content["bomFormat"], content["specVersion"]) == ("CycloneDX", "1.6")
    assert content["metadata"]["component"]["version"] == muxpilot.__version__
    names = {row["name"] for row in content["components"]}
    assert {"google-re2", "rapidfuzz", "tree-sitter", "tree-sitter-bash", "uvicorn", "httptools"} <= names
    assert {"GNU Unifont", "xterm.js"} <= names
    assert not {"pytest", "mcp", "mypy"} & names


def download(wheel: Path, folder: Path) -> None:
    """Download what a wheel requires, or skip where there is no index."""
    argv: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--disable-pip-version-check",
        "-d",
        folder,
        wheel,
    ]
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, timeout=LIMIT_S, env=_ENVIRONMENT
    )
    if done.returncode:
        pytest.skip(f"no index of packages: {done.stderr.strip().splitlines()[-1:]}")


@pytest.mark.timeout(3 * LIMIT_S)
def test_the_wheel_installs_without_an_index(built: Path, tmp_path: Path) -> None:
    [wheel] = built.glob("*.whl")
    download(wheel, tmp_path / "wheelhouse")
    call(sys.executable, "-m", "venv", tmp_path / "venv")
    pip: list[str | Path] = [tmp_path / "venv/bin/python", "-m", "pip", "install", "-q", "--no-index"]
    call(*pip, "--find-links", tmp_path / "wheelhouse", "muxpilot", PIP_CONFIG_FILE=os.devnull)
    told = call(tmp_path / "venv/bin/muxpilot", "--version")
    assert told == f"muxpilot {muxpilot.__version__}\n"
    assert "read-pane" in call(tmp_path / "venv/bin/tmux-mcp", "tools")


@pytest.mark.timeout(3 * LIMIT_S)
def test_one_file_runs_where_only_python_is(built: Path, tmp_path: Path) -> None:
    """Build muxpilot.pyz for this Python, and run it with a home that has nothing."""
    [wheel] = built.glob("*.whl")
    download(wheel, tmp_path / "probe")
    release = runpy.run_path(str(ROOT / "release/build.py"))
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    release["build_app"].__globals__["PYTHONS"] = (here,)
    app = tmp_path / "muxpilot.pyz"
    release["build_app"](app, wheel, 1700000000)
    base = Path(sys.base_prefix, "bin", f"python{here}")
    home = {"HOME": str(tmp_path), "PYTHONPATH": "", "XDG_CACHE_HOME": ""}
    for _ in range(2):  # unpacked, then found
        assert call(base, "-I", app, "--version", **home) == f"muxpilot {muxpilot.__version__}\n"
    assert call(base, "-I", app, "policy", "explain", "list-panes", **home).startswith("allow")
    shown = json.loads(call(base, "-I", app, "install", "cursor", "--print", **home))
    assert shown["mcpServers"]["muxpilot"] == {"command": str(app), "args": []}
    [place] = (tmp_path / ".cache/muxpilot/app").iterdir()
    assert place.stat().st_mode & 0o077 == 0
