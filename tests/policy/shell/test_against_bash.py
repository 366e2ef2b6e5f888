"""The filter against real bash: of thousands of random texts, none that passes may run a denied command."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from muxpilot.patterns import compile_regex
from muxpilot.policy.commands import CommandRule
from tests.policy.shell.shell_programs import make_programs

DENY_RM = CommandRule(is_allowlist=False, patterns=(compile_regex(r"^rm\b", "patterns"),))
ALLOW_FEW = CommandRule(is_allowlist=True, patterns=(compile_regex(r"^(echo|true|:|cat)\b", "patterns"),))

# No function definitions: a random one may call itself for ever.
PIECES = (
    *(
        "rm",
        "rm x",
        "r",
        "m",
        "x",
        ";",
        "|",
        "&&",
        "||",
        "& ",
        "$(",
        ")",
        "`",
        "'",
        '"',
        "\\",
        "\n",
        "{ ",
        "; }",
    ),
    *(
        "(",
        "<<E\n",
        "\nE\n",
        "<<'E'\n",
        "eval ",
        "sh -c ",
        "env ",
        "if ",
        "; then ",
        "; fi",
        "echo ",
        "$x",
        "${x:-",
    ),
    *(
        "}",
        "<",
        "<<<",
        "x=",
        "! ",
        "time ",
        "case x in ",
        "x) ",
        ";; ",
        "esac",
        "for i in 1; do ",
        "; done",
        "[[ ",
    ),
    *(
        "]]",
        "((",
        "))",
        "# ",
        " ",
        " ",
        "\t",
        "$'",
        '$"',
        "coproc ",
        "*",
        "?",
        "command ",
        "exec ",
        "builtin ",
        ">o ",
    ),
    *(
        "2>&1 ",
        "{rm,x}",
        "$((",
        "\\\n",
        "while ",
        "; do ",
        "A=1 ",
        "a[0]=",
        "+=",
        "=(",
        "<(",
        "|& ",
        "nohup ",
        "trap ",
    ),
    *(
        "EXIT",
        "-c ",
        "-- ",
        "- ",
        "cat ",
        "=",
        "$",
        "\\x72m",
        "export ",
        "x='rm y'; ",
        "set -- rm y; ",
        '"$@" ',
        "true\n",
    ),
)
TRIED = 12_000


def random_passing_texts(seed: int) -> list[str]:
    chance = random.Random(seed)
    texts = {"".join(chance.choices(PIECES, k=chance.randint(2, 8))) for _ in range(TRIED)}
    likely = [text for text in sorted(texts) if "r" in text and "m" in text]
    return [
        text for text in likely if DENY_RM.find_denial(text) is None or ALLOW_FEW.find_denial(text) is None
    ]


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    return make_programs(tmp_path / "bin", '"$NUMBER"', ("sh", "env", "cat", "nohup", "true"))


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.timeout(180)  # hundreds of programs
@pytest.mark.parametrize("seed", [1, 2])
def test_no_text_that_passes_runs_what_is_denied(seed: int, programs: Path, tmp_path: Path) -> None:
    told, work = tmp_path / "told", tmp_path / "work"
    told.touch()
    work.mkdir()
    texts = random_passing_texts(seed)
    assert len(texts) > 100
    quoted = [text.replace("'", "'\\''") for text in texts]
    script = "\n".join(
        f"( export NUMBER={number}; eval '{text}' ) </dev/null >/dev/null 2>&1"
        for number, text in enumerate(quoted)
    )
    (tmp_path / "script").write_text(f"{script}\nwait\n")
    environment = {"PATH": str(programs), "TOLD": str(told), "HOME": str(work)}
    bash = [shutil.which("bash") or "bash", "--norc", str(tmp_path / "script")]
    subprocess.run(
        bash,
        env=environment,
        cwd=work,
        timeout=150,
        check=False,
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    ran = {int(number) for number in told.read_text().split()}
    assert [texts[number] for number in sorted(ran)] == []
