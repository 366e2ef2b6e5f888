"""The Containerfile, built and run if podman and buildah are installed: two minutes and more.

MUXPILOT_TEST_CONTAINER=no leaves it out.

No image registry is asked: the base is a Debian tree that mmdebstrap makes. podman runs it as notes of this
kind of machine want it: runc, explicit limits, no overlay file system.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.rigs.wire import Wire
from tests.sandbox.boxes import run_in_debug_pane, serve_in_box

ROOT = Path(__file__).parents[2]
NEEDED = ("podman", "buildah", "runc", "mmdebstrap")
LIMIT_S = 300
BASE, IMAGE = "localhost/muxpilot-base:test", "localhost/muxpilot:test"

pytestmark = pytest.mark.timeout(3 * LIMIT_S)

# Read at import: fixtures take everything but PATH away.
_ENVIRONMENT = dict(os.environ)


@pytest.fixture(scope="module")
def storage() -> Iterator[list[str]]:
    """Yield flags for podman and buildah that keep everything in a temporary folder."""
    if _ENVIRONMENT.get("MUXPILOT_TEST_CONTAINER") == "no":
        pytest.skip("it takes two minutes, and MUXPILOT_TEST_CONTAINER says no")
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"it needs root and {', '.join(missing or NEEDED)}")
    folder = tempfile.mkdtemp(prefix="mx", dir="/tmp")
    yield ["--root", f"{folder}/root", "--runroot", f"{folder}/run", "--storage-driver", "vfs"]
    shutil.rmtree(folder, ignore_errors=True)


def run_or_fail(*argv: str) -> None:
    found = subprocess.run(
        argv, capture_output=True, text=True, check=False, timeout=LIMIT_S, env=_ENVIRONMENT, cwd=ROOT
    )
    assert found.returncode == 0, f"{argv}: {found.stdout[-2000:]}{found.stderr[-2000:]}"


@pytest.fixture(scope="module")
def image(storage: list[str]) -> str:
    tree = Path(storage[1]).with_name("base.tar")
    include = "--include=tmux,python3,python3-pip,procps,ca-certificates"
    run_or_fail("mmdebstrap", "--quiet", "--variant=essential", include, "bookworm", str(tree))
    run_or_fail("podman", *storage, "--cgroup-manager=cgroupfs", "import", str(tree), BASE)
    tree.unlink()
    arguments = (f"BASE={BASE}", "PIP_ARGS=--break-system-packages --quiet")
    run_or_fail(
        *("buildah", *storage, "bud", "--isolation", "chroot", "--pull-never"),
        *("-v", "/etc/ssl/certs:/etc/ssl/certs:ro", "-t", IMAGE, "-f", "Containerfile"),
        *(word for argument in arguments for word in ("--build-arg", argument)),
        ".",
    )
    return IMAGE


def serve_in_container(storage: list[str], image: str, workspace: Path) -> AbstractAsyncContextManager[Wire]:
    """Run the image as the Containerfile says, with the limits that this machine needs."""
    argv = (
        *("podman", *storage, "--cgroup-manager=cgroupfs", "--runtime", "runc", "run", "-i", "--rm"),
        *("--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096", "--network=none", "--read-only"),
        *("--tmpfs", "/tmp", "--cap-drop=all", "--security-opt=no-new-privileges"),
        *("-v", f"{workspace}:/workspace", image, "--scope", "debug", "--audit", "/workspace/audit.log"),
    )
    return serve_in_box(argv, workspace, _ENVIRONMENT, patience_s=LIMIT_S)


async def test_the_image_serves_and_only_the_workspace_is_shared(
    storage: list[str], image: str, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    workspace = tmp_path / "work"
    workspace.mkdir()
    async with serve_in_container(storage, image, workspace) as wire:
        tools = await wire.result("tools/list")
        assert len(tools["tools"]) == 5
        assert await run_in_debug_pane(wire, "pwd; echo made > here") == "/workspace"
        assert "No such file" in await run_in_debug_pane(wire, f"cat {secret} 2>&1")
        assert "Read-only file system" in await run_in_debug_pane(wire, "touch /usr/made 2>&1")
        assert (await run_in_debug_pane(wire, "ls /sys/class/net")).split() == ["lo"]
        assert await wire.close_stdin() == 0
    assert (workspace / "here").read_text() == "made\n"
    assert '"tool": "create_pane"' in (workspace / "audit.log").read_text()
