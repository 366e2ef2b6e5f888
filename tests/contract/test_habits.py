"""The files that contributors and GitHub expect: workflows, templates, editor and security settings.

No YAML parser is installed for development, so the workflows are read line by line. `actionlint` checks them
as a whole where it is installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from configparser import ConfigParser

import pytest

from tests.contract.source import ROOT

WORKFLOWS = ROOT / ".github" / "workflows"
TEMPLATES = ROOT / ".github" / "ISSUE_TEMPLATE"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
YAML_FILES = sorted([*WORKFLOWS.glob("*.yml"), *TEMPLATES.glob("*.yml"), ROOT / ".pre-commit-config.yaml"])


def commands(workflow: str) -> list[str]:
    """Return what a workflow's steps run, one line each."""
    text = (WORKFLOWS / workflow).read_text()
    return [found.strip() for found in re.findall(r"^\s+(?:- )?run: (?!\|)(.+)$", text, re.MULTILINE)]


def test_the_test_workflow_lints_and_tests_as_a_developer_does() -> None:
    runs = commands("test.yml")
    assert "./dev lint" in runs
    assert runs.count("./dev test") == 2


def test_the_test_workflow_covers_systems_pythons_and_tmux_versions() -> None:
    text = (WORKFLOWS / "test.yml").read_text()
    for name in ("ubuntu-22.04", "ubuntu-24.04", "macos-", "debian:bookworm", "debian:trixie"):
        assert name in text
    least = int(PROJECT["project"]["requires-python"].removeprefix(">=3."))
    for minor in range(least, 15):
        assert f'"3.{minor}"' in text


def test_a_release_is_tested_checked_and_published_without_a_stored_token() -> None:
    text = (WORKFLOWS / "release.yml").read_text()
    assert "uses: ./.github/workflows/test.yml" in text
    assert "needs: [test, build]" in text
    assert "./dev release" in commands("release.yml")
    script = (WORKFLOWS.parents[1] / "release/build.py").read_text()
    assert '"-m", "build"' in script
    assert '"twine", "check", "--strict"' in script
    assert "id-token: write" in text
    assert "name: pypi" in text
    assert "secrets." not in text


def test_workflows_get_no_more_rights_than_they_need() -> None:
    for path in WORKFLOWS.glob("*.yml"):
        assert "\npermissions:\n  contents: read\n" in path.read_text(), path.name


def test_actions_are_named_with_a_version() -> None:
    for path in WORKFLOWS.glob("*.yml"):
        used = re.findall(r"uses: (\S+)", path.read_text())
        assert [name for name in used if "@" not in name and not name.startswith("./")] == []


@pytest.mark.parametrize("path", YAML_FILES, ids=lambda path: path.name)
def test_yaml_is_indented_by_pairs_of_blanks(path: object) -> None:
    lines = (ROOT / str(path)).read_text().splitlines()
    assert [line for line in lines if "\t" in line or line != line.rstrip()] == []
    assert [line for line in lines if (len(line) - len(line.lstrip())) % 2] == []


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="actionlint is not installed")
def test_actionlint_accepts_the_workflows() -> None:
    done = subprocess.run(
        ["actionlint", *map(str, WORKFLOWS.glob("*.yml"))], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("name", ["bug_report.yml", "feature_request.yml"])
def test_an_issue_template_has_a_name_a_description_and_a_required_field(name: str) -> None:
    text = (TEMPLATES / name).read_text()
    for key in ("name: ", "description: ", "body:\n"):
        assert re.search(f"^{key}", text, re.MULTILINE)
    assert "required: true" in text


def test_a_bug_report_asks_for_the_log_and_the_doctor() -> None:
    text = (TEMPLATES / "bug_report.yml").read_text()
    assert "MUXPILOT_LOG=debug" in text
    assert "muxpilot doctor" in text
    assert "SECURITY.md" in text


def test_the_pull_request_template_asks_for_lint_and_tests() -> None:
    text = (ROOT / ".github" / "pull_request_template.md").read_text()
    assert "`./dev lint` and `./dev test` pass." in text


def test_security_says_how_to_report_what_is_in_scope_and_which_versions() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    for heading in ("Report a vulnerability", "Supported versions", "In scope", "Out of scope"):
        assert f"\n## {heading}\n" in text


def test_the_editor_settings_are_those_of_ruff() -> None:
    editor = ConfigParser()
    editor.read_string("[top]\n" + (ROOT / ".editorconfig").read_text())
    assert editor.getint("*.py", "max_line_length") == PROJECT["tool"]["ruff"]["line-length"]
    assert editor["*"]["end_of_line"] == "lf"


def test_pre_commit_runs_the_ruff_that_development_uses() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text()
    found = re.search(r"rev: v(\d+)\.(\d+)\.", text)
    wanted = next(row for row in PROJECT["project"]["optional-dependencies"]["dev"] if row.startswith("ruff"))
    assert found is not None
    assert wanted.startswith(f"ruff>={found[1]}.{found[2]},")
    assert "id: ruff-check" in text
    assert "id: ruff-format" in text
