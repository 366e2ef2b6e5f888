"""Buffer files stay below their folders, whatever the path is and whatever is swapped there."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from muxpilot.errors import BadInput
from muxpilot.files import allowed_paths as module
from muxpilot.files.allowed_paths import AllowedFolders


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    """Make an allowed folder, next to one with a secret that must stay out of reach."""
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret").write_bytes(b"secret")
    (tmp_path / "in" / "file").write_bytes(b"\0\xffhello")
    return tmp_path / "in"


def read(folders: AllowedFolders, path: str) -> bytes:
    with folders.read(path) as file:
        return file.read()


def outside(inside: Path) -> list[tuple[str, bytes]]:
    folder = inside.parent / "out"
    return [(path.name, path.read_bytes()) for path in sorted(folder.iterdir())]


def test_what_is_written_is_read_back_byte_for_byte_and_only_its_owner_can(inside: Path) -> None:
    content = bytes(range(256)) * 9000
    for folders, path in [
        (AllowedFolders(None, lambda: inside), "new"),
        (AllowedFolders(None, lambda: inside), "deep/new"),
        (AllowedFolders([str(inside)]), str(inside / "new2")),
        (AllowedFolders([str(inside)]), "deep/new3"),
        (AllowedFolders([str(inside.parent / "none"), str(inside)]), str(inside / "deep" / "-x #(id)")),
        (AllowedFolders([str(inside)]), "file"),
    ]:
        folders.write(path, io.BytesIO(content))
        assert read(folders, path) == content
        assert (inside / path).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in inside.rglob(".*")] == []


TRAVERSAL = ["..", "../out/secret", "deep/../file", "deep/../../out/secret", "./../x", "x/.."]


@pytest.mark.parametrize("path", TRAVERSAL)
@pytest.mark.parametrize("is_allowed", [True, False])
def test_a_way_up_is_refused(inside: Path, path: str, is_allowed: bool) -> None:
    folders = AllowedFolders([str(inside)]) if is_allowed else AllowedFolders(None, lambda: inside)
    for given in (path, str(inside / path)) if is_allowed else (path,):
        with pytest.raises(BadInput, match=r"contains parent directory traversal \('\.\.'\)"):
            read(folders, given)
        with pytest.raises(BadInput, match="traversal"):
            folders.write(given, io.BytesIO(b"x"))
    assert outside(inside) == [("secret", b"secret")]


def test_a_path_elsewhere_is_refused(inside: Path) -> None:
    elsewhere = [
        str(inside.parent / "out" / "secret"),
        "/etc/passwd",
        f"{inside}2/file",
        str(inside),
        "/",
        ".",
    ]
    for path in elsewhere:
        with pytest.raises(BadInput, match="is not under allowed buffer paths"):
            read(AllowedFolders([str(inside)]), path)
    with pytest.raises(BadInput, match="allowed_buffer_paths allows: none"):
        read(AllowedFolders([]), str(inside / "file"))
    with pytest.raises(BadInput, match="must be relative when no allowed_buffer_paths are configured"):
        read(AllowedFolders(None, lambda: inside), str(inside / "file"))
    for path in ("", " ", "a\0b"):
        with pytest.raises(BadInput, match="'path' is not a path"):
            read(AllowedFolders([str(inside)]), path)


def links(inside: Path) -> None:
    """Make links that lead out: to a file, to a folder, absolute and relative, and to a missing file."""
    out = inside.parent / "out"
    (inside / "file-out").symlink_to(out / "secret")
    (inside / "folder-out").symlink_to(out)
    (inside / "relative-out").symlink_to("../out/secret")
    (inside / "dangling-out").symlink_to(out / "new")
    (inside / "twice").symlink_to(inside / "file-out")
    (inside / "loop").symlink_to(inside / "loop")


@pytest.mark.parametrize(
    "path",
    ["file-out", "folder-out/secret", "folder-out/new", "relative-out", "dangling-out", "twice", "loop"],
)
def test_a_link_that_leads_out_is_refused(inside: Path, path: str) -> None:
    links(inside)
    with pytest.raises(BadInput):
        read(AllowedFolders([str(inside)]), path)
    with pytest.raises(BadInput):
        AllowedFolders([str(inside)]).write(path, io.BytesIO(b"x"))
    with pytest.raises(BadInput):
        AllowedFolders([str(inside)]).create(path)
    assert outside(inside) == [("secret", b"secret")]


def test_a_link_that_stays_inside_is_followed(inside: Path) -> None:
    (inside / "alias").symlink_to("deep")
    folders = AllowedFolders([str(inside)])
    folders.write("alias/new", io.BytesIO(b"x"))
    assert (inside / "deep" / "new").read_bytes() == b"x"
    (inside.parent / "way-in").symlink_to(inside)
    assert read(AllowedFolders([str(inside.parent / "way-in")]), str(inside / "file")) == b"\0\xffhello"


@pytest.mark.parametrize("swapped", ["deep", "deep/file"])
def test_who_swaps_a_link_in_after_the_check_is_refused(
    inside: Path, swapped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Change the path between the check and the use, as an attacker could."""
    (inside / "deep" / "file").write_bytes(b"honest")
    honest = module._open_folder

    def late(root: str, names: list[str]) -> int:
        if swapped == "deep":
            os.rename(inside / "deep", inside / "was-deep")
            (inside / "deep").symlink_to(inside.parent / "out")
            return honest(root, names)
        (inside / "deep" / "file").unlink()
        (inside / "deep" / "file").symlink_to(inside.parent / "out" / "secret")
        return honest(root, names)

    monkeypatch.setattr(module, "_open_folder", late)
    with pytest.raises(BadInput, match="not accessible"):
        read(AllowedFolders([str(inside)]), "deep/file")
    assert outside(inside) == [("secret", b"secret")]


@pytest.mark.parametrize("swapped", ["deep", "deep/new"])
def test_a_new_file_is_not_made_through_a_link_that_was_swapped_in(
    inside: Path, swapped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = module._open_folder

    def late(root: str, names: list[str]) -> int:
        if swapped == "deep":
            os.rename(inside / "deep", inside / "was-deep")
        (inside / swapped).symlink_to(inside.parent / "out" / ("" if swapped == "deep" else "made"))
        return honest(root, names)

    monkeypatch.setattr(module, "_open_folder", late)
    with pytest.raises(BadInput, match=r"not accessible|already exists"):
        AllowedFolders([str(inside)]).create("deep/new")
    assert outside(inside) == [("secret", b"secret")]


def test_a_link_swapped_in_under_a_save_is_not_written_through(
    inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        module,
        "_refuse_special_file",
        lambda _, name: (inside / name).symlink_to(inside.parent / "out" / "secret"),
    )
    AllowedFolders([str(inside)]).write("new", io.BytesIO(b"mine"))
    assert (inside / "new").read_bytes() == b"mine"
    assert not (inside / "new").is_symlink()
    assert outside(inside) == [("secret", b"secret")]


def test_only_plain_files_are_read_or_replaced(inside: Path) -> None:
    os.mkfifo(inside / "fifo")
    folders = AllowedFolders([str(inside)])
    for path in ("fifo", "deep"):
        with pytest.raises(BadInput, match=r"is not a regular file|Is a directory"):
            read(folders, path)
        with pytest.raises(BadInput, match="is not a regular file"):
            folders.write(path, io.BytesIO(b"x"))
    with pytest.raises(BadInput, match="not accessible: No such file"):
        read(folders, "gone")
    with pytest.raises(BadInput, match="not accessible: No such file"):
        folders.write("gone/file", io.BytesIO(b"x"))


class Breaking(io.BytesIO):
    def read(self, size: int | None = -1, /) -> bytes:
        raise RuntimeError("broken off")


def test_a_save_that_breaks_off_changes_nothing(inside: Path) -> None:
    with pytest.raises(RuntimeError):
        AllowedFolders([str(inside)]).write("file", Breaking())
    assert sorted(path.name for path in inside.iterdir()) == ["deep", "file"]
    assert (inside / "file").read_bytes() == b"\0\xffhello"
