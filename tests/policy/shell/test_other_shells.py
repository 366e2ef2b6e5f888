"""The filter against real zsh and fish: what they run although bash would not is refused."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.policy.shell.shell_programs import make_programs
from tests.policy.shell.test_against_bash import ALLOW_FEW, DENY_RM, PIECES

# As a person types them: zsh's comments, for one, are none there.
SHELLS = {
    "bash": ("bash", "--norc", "-i"),
    "zsh": ("zsh", "-f", "-i", "-s"),
    "fish": ("fish", "--no-config", "-i"),
}

# Each does run rm in that shell.
RUN_IT = {
    "bash": [
        "{rm,x}",
        "c=r; ${c}m x",
        "x=rm; y=x; ${!y} z",
        "printf -v c rm; $c x",
        'a=(rm x); "${a[@]}"',
        "$'\\x72m' x",
        "coproc rm x; wait",
        "trap 'rm x' EXIT; exit",
        "f() { rm x; }; f",
        "shopt -s expand_aliases\nalias f='rm x'\nf",
        ". /dev/stdin <<< 'rm x'",
        "echo $((a[$(rm x >&2)0]))",
        "[ -v 'a[$(rm x)]' ]",
        "cat < <(rm x)",
        "xargs -I{} sh -c '{} x' <<< rm",
        "find . -maxdepth 0 -exec sh -c 'rm x' \\;",
        "env -S 'rm x'",
        "command -p env rm x",
        "PROMPT_COMMAND='rm x'\n:",
        "PS1='$(rm x)'\n:",
        "compgen -C 'rm x'",
        "compgen -W '$(rm x)'",
        "BASH_ALIASES[f]='rm x'\nshopt -s expand_aliases\nf",
        'hash -p "$(type -P rm)" f; f x',
        "mapfile -C 'rm x #' -c 1 a <<< b",
        "split --filter='rm x' - <<< a",
        "]]>o <<E\nrm x\nE",
    ],
    "zsh": [
        "echo a # ; rm x",
        "echo a # '\necho ' ; rm x; echo '\n# '",
        "=rm x",
        "${:-rm} x",
        "for i (1 2) rm x",
        "if (true) rm x",
        "if [[ 1 = 1 ]] { rm x }",
        "repeat 1 rm x",
        "() { rm x }",
        "{ true } always { rm x }",
        "true &| rm x",
        "functions[f]='rm x'; f",
        "aliases[f]='rm x'\nf",
        "hash f==rm; f x",
        "alias -g f='; rm x'\necho f",
        "setopt promptsubst; print -P '$(rm x)'",
        "echo ${(e):-'$(rm x)'}",
        "touch y; echo *(e:'rm x':)",
        "source =(echo rm x)",
        "emulate zsh -c 'rm x'",
        "TRAPEXIT() { rm x }; exit",
        "precmd() { rm x }\n:",
        "case x in (x) rm x;; esac",
        "select i (x) { rm x; break } <<< 1",
    ],
    "fish": [
        "\\x72m x",
        "r\\155 x",
        "\\u0072m x",
        "command r\\x6d x",
        "echo (rm x)",
        "env (echo rm) x",
        "echo rm x | source",
        "source (echo rm x | psub)",
        "eval (echo rm x)",
        "alias f 'rm x'; f",
        "begin; rm x; end",
        "if true; rm x; end",
        "true; and rm x",
        "not rm x",
        "function f; rm x; end; f",
        "echo 'a\\'' ; rm x; echo '\\''",
        "set c rm; $c x",
        "for i in 1; rm x; end",
        "switch x; case x; rm x; end",
        "function f --on-event fish_exit; rm x; end",
        'echo "$(rm x)"',
        "trap 'rm x' EXIT",
    ],
}

MORE: dict[str, list[str]] = {
    "bash": [],
    "zsh": [
        *("=rm ", "=( ", "*(e:'rm x':)", "() { ", "; } always { ", "for i (1) ", "foreach i (1) ", "; end"),
        *("if (true) ", "repeat 1 ", "# ; ", "# ", "&| ", "${(e):-", "${:-rm} ", "functions[f]=", "; f "),
        *("alias -g f=", "case x (x) ", "\\'", "'a\\'"),
    ],
    "fish": [
        *(
            "and ",
            "or ",
            "not ",
            "begin; ",
            "; end",
            "if true; ",
            "function f; ",
            "; f",
            "(rm x)",
            "(echo rm) ",
        ),
        *(
            "\\x72m x",
            "r\\155 x",
            "'a\\' '",
            "\\'",
            "'\\''",
            "| source",
            "set c rm; ",
            "$c x",
            "for i in 1; ",
        ),
        *('"$(rm x)"', "# ; ", "alias f "),
    ],
}
TRIED = {"is_at_prompt": 2_000, "is_typed": 400}


def passes(text: str, way: str = "is_at_prompt") -> bool:
    return any(rule.find_denial(text, **{way: True}) is None for rule in (DENY_RM, ALLOW_FEW))


def needs(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    return make_programs(
        tmp_path / "bin", "ran", "sh env cat true touch xargs find split mktemp sleep bash".split()
    )


def runs_rm(shell: str, programs: Path, number: int, text: str, limit_s: float) -> bool:
    """Type a text into a shell and tell whether rm runs."""
    work = programs.parent / f"work{number}"
    work.mkdir()
    told = programs.parent / f"told{number}"
    places = {"HOME": str(work), "XDG_CONFIG_HOME": str(work), "XDG_DATA_HOME": str(work)}
    process = subprocess.Popen(
        [shutil.which(shell) or shell, *SHELLS[shell][1:]],
        env={"PATH": str(programs), "TOLD": str(told), "TERM": "dumb", **places},
        cwd=work,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        process.communicate(f"{text}\n".encode(), timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return told.exists()


def texts_that_run_rm(shell: str, programs: Path, texts: list[str], *, limit_s: float = 5) -> Iterator[str]:
    def is_run(number: int) -> bool:
        return runs_rm(shell, programs, number, texts[number], limit_s)

    with ThreadPoolExecutor(2) as pool:
        results = pool.map(is_run, range(len(texts)))
        yield from (text for text, has_run in zip(texts, results, strict=True) if has_run)


@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_listed_does_run_and_is_refused(shell: str, programs: Path) -> None:
    needs(shell)
    texts = RUN_IT[shell]
    assert list(texts_that_run_rm(shell, programs, texts, limit_s=50)) == texts
    assert [text for text in texts if passes(text)] == []


@pytest.mark.timeout(180)  # hundreds of shells
@pytest.mark.parametrize(
    ("shell", "way"),
    [
        ("bash", "is_typed"),
        *((shell, way) for shell in ("zsh", "fish") for way in ("is_typed", "is_at_prompt")),
    ],
)
def test_no_text_that_passes_runs_what_is_denied(shell: str, way: str, programs: Path) -> None:
    """Try random texts of that shell's syntax. Typed ones that are not shell are judged by their pieces."""
    needs(shell)
    chance = random.Random(8)
    pool = [*PIECES, *MORE[shell] * 4]
    texts = {"".join(chance.choices(pool, k=chance.randint(2, 7))) for _ in range(TRIED[way])}
    likely = [text for text in sorted(texts) if "r" in text and "m" in text]
    passing = [text for text in likely if passes(text, way)]
    assert len(passing) > 20
    assert list(texts_that_run_rm(shell, programs, passing)) == []


@pytest.mark.parametrize(
    "text",
    ["# build (all)\nmake\n# it's done", "for f in *; do\n  # don't touch $f\n  echo $f\ndone", "ls # a; b"],
)
def test_a_comment_is_one_where_a_shell_is_not_typed_at(text: str) -> None:
    assert DENY_RM.find_denial(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "print('it costs $5')",
        "it's a note: rm is denied",
        "def f(x):\n    return x",
        "<p>$x</p> it's",
        "a = {b: [c",
    ],
)
def test_typed_text_that_is_no_shell_and_hides_nothing_passes(text: str) -> None:
    assert DENY_RM.find_denial(text, is_typed=True) is None


@pytest.mark.parametrize(
    "text",
    [
        "socat - EXEC:'rm x'",
        "socat - SYSTEM:'rm x'",
        "ncat -e 'rm x' h 1",
        "nc -c 'rm x' h 1",
        "hyperfine 'rm x'",
        "conda run -n e rm x",
        "tini -- rm x",
        "gosu me rm x",
        "dtach -n s rm x",
        "watchexec -- rm x",
        "git grep -O'rm x' y",
        "zip a b -TT 'rm x'",
        "sqlite3 d '.shell rm x'",
        "psql -c '\\! rm x'",
        "expect -c 'spawn rm x'",
        "crontab - <<< '* * * * * rm x'",
        "enable -f ./x.so x",
        "sched +0 rm x",
        "zpty n rm x",
        "abbr -a f 'rm x'",
        "integer 'a[$(rm x)]=1'",
        "print -z rm x",
    ],
)
def test_programs_that_run_programs_are_seen_through(text: str) -> None:
    assert DENY_RM.find_denial(text) is not None
    assert ALLOW_FEW.find_denial(text) is not None
