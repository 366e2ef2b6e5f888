"""Pictures and recordings are restricted to the same folders as buffer files, if the policy names some."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rigs.policies import Policy, PolicyPlace

SAVING = [("screenshot-pane", {}, ".png"), ("record-pane", {"action": "start"}, ".cast")]


@pytest.mark.parametrize(("tool", "arguments", "suffix"), SAVING)
async def test_a_picture_and_a_recording_stay_below_the_allowed_folders(
    under: Policy, place: PolicyPlace, tmp_path: Path, tool: str, arguments: dict[str, str], suffix: str
) -> None:
    inside, out = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    out.mkdir()
    (inside / "way-out").symlink_to(out)
    (inside / f"link{suffix}").symlink_to(out / f"made{suffix}")
    async with under(f'[security]\nallowed_buffer_paths = ["{inside}"]') as it:
        aimed = {"paneId": place.panes["one"], **arguments}
        for path in (
            str(out / f"x{suffix}"),
            f"../out/x{suffix}",
            str(inside / ".." / "out" / f"x{suffix}"),
            str(inside / "way-out" / f"x{suffix}"),
            f"way-out/x{suffix}",
            f"link{suffix}",
            f"~/x{suffix}",
        ):
            answer = await it.app.dispatch.call(tool, {**aimed, "path": path})
            assert answer.error == "bad-input", path
            assert "path" in answer.text
        assert list(out.iterdir()) == []
        made = await it.call(tool, **aimed, path=f"ok{suffix}")
        assert made["path"] == str(inside.resolve() / f"ok{suffix}")
        assert Path(made["path"]).stat().st_mode & 0o777 == 0o600
        assert list(out.iterdir()) == []


@pytest.mark.parametrize("toml", ["", "[security]\nenabled = false\nallowed_buffer_paths = []\n"])
async def test_where_the_policy_names_none_they_go_where_the_person_may_write(
    under: Policy, place: PolicyPlace, tmp_path: Path, toml: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with under(toml) as it:
        for path in (str(tmp_path / "a.png"), "b.png"):
            made = await it.call("screenshot-pane", paneId=place.panes["one"], path=path)
            assert Path(made["path"]) == tmp_path / Path(path).name
            assert Path(made["path"]).read_bytes().startswith(b"\x89PNG")


async def test_an_empty_list_leaves_no_place_for_a_picture(under: Policy, place: PolicyPlace) -> None:
    async with under("[security]\nallowed_buffer_paths = []") as it:
        given = {"paneId": place.panes["one"], "path": "/tmp/mx-never.png"}
        answer = await it.app.dispatch.call("screenshot-pane", given)
    assert "allowed_buffer_paths allows: none" in answer.text
    assert not Path("/tmp/mx-never.png").exists()
