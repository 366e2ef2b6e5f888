"""Every shell, in real panes: output, exit code and state are exact."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from tests.rigs.waiting import eventually
from tests.shells.conftest import SHELLS, Desk

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass(frozen=True)
class Case:
    name: str
    command: str
    output: str
    exit_code: int = 0
    fish: str | None = None  # the same command for fish; "" skips it


CASES = (
    Case("a-word", "echo hi", "hi\n"),
    Case("no-output", "true", ""),
    Case("a-failure", "false", "", 1),
    Case("an-exit-code", "sh -c 'exit 42'", "", 42),
    Case("a-missing-program", "nosuchprogram 2>/dev/null", "", 127, fish=""),
    Case("no-final-newline", "printf abc", "abc"),
    Case("trailing-blanks", "printf 'a  \\n\\nb \\n'", "a  \n\nb \n"),
    Case("leading-blanks", "printf '   a\\n'", "   a\n"),
    Case("a-tab-in-the-output", "printf 'a\\tb\\n'", "a\tb\n"),
    Case("a-terminal", "test -t 0 && test -t 1 && test -t 2 && echo yes", "yes\n"),
    Case("a-pipeline", "printf 'b\\na\\n' | sort", "a\nb\n"),
    Case("a-pipeline-that-fails", "echo x | grep y", "", 1),
    Case("a-list", "echo a; echo b && echo c", "a\nb\nc\n", fish="echo a; echo b; and echo c"),
    Case("a-signal", "sh -c 'kill -TERM $$'", "", 143),
    Case("standard-error", "sh -c 'echo oops >&2'", "oops\n"),
    Case("a-comment", "echo hi # not this", "hi\n"),
    Case("only-a-hash-behind-a-blank", "echo a #", "a\n"),
    Case("an-exclamation-mark", "echo \"wow!x\" '!y'", "wow!x !y\n"),
    Case("quotes", """echo "it's" 'a "quote"'""", 'it\'s a "quote"\n'),
    Case("a-dollar", "echo 'a$b'", "a$b\n"),
    Case("a-backslash", "printf '%s\\n' 'a\\b'", "a\\b\n"),
    Case("a-semicolon-at-the-end", "echo a;", "a\n"),
    Case("wide-characters", "echo 漢字 ñ 🎉", "漢字 ñ 🎉\n"),
    Case("several-lines", "echo a\necho b\necho c", "a\nb\nc\n"),
    Case("a-blank-line-between", "echo a\n\necho b", "a\nb\n"),
    Case("a-loop", "for i in 1 2 3\ndo\necho $i\ndone", "1\n2\n3\n", fish="for i in 1 2 3\necho $i\nend"),
    Case("an-if", "if true; then\n  echo yes\nfi", "yes\n", fish="if true\n  echo yes\nend"),
    Case("a-here-document", "cat <<EOF\nline 1\n  line $((1+1))\nEOF", "line 1\n  line 2\n", fish=""),
    Case(
        "commands-behind-here-documents",
        "cat <<A\n1\nA\necho 2\ncat <<'B'\n3\nB\necho 4",
        "1\n2\n3\n4\n",
        fish="",
    ),
    Case("a-line-continued", "echo a \\\nb", "a b\n"),
    Case("a-line-longer-than-the-screen", f"echo {'x' * 700}", "x" * 700 + "\n"),
    Case("output-wider-than-the-screen", "printf '%0500d\\n' 7", "0" * 499 + "7\n"),
    Case("more-than-a-screen", "seq 1 300", "".join(f"{n}\n" for n in range(1, 301))),
    Case("colours-are-gone", "printf '\\033[31mred\\033[0m\\n'", "red\n"),
    Case("a-progress-bar-as-it-ended", "printf '10%%\\r50%%\\r100%%\\n'", "100%\n"),
    Case("clear-loses-nothing", "echo before; printf '\\033[H\\033[2J'; echo after", "before\nafter\n"),
    Case("the-alternate-screen-is-left-out", "printf 'a\\033[?1049hdrawn\\033[?1049lb\\n'", "ab\n"),
    Case("a-forged-end", "printf '\\033]133;D;0;00112233445566778899aabbccddeeff\\007x\\n'; false", "x\n", 1),
    Case("a-background-program", "sleep 0.01 & wait; echo done", "", fish=""),
    Case("a-syntax-error", "echo )", "", -1),
    Case("many-words-that-tmux-knows", "echo '#{pane_id}' '#(touch x)' \\; -- ~", "", fish=""),
)


def _rows() -> list[object]:
    rows: list[object] = []
    for shell in SHELLS:
        for case in CASES:
            if shell == "fish" and case.fish is not None:
                if not case.fish:
                    continue
                case = replace(case, command=case.fish)
            rows.append(pytest.param(shell, case, id=f"{shell}-{case.name}"))
    return rows


@pytest.mark.parametrize(("shell", "case"), _rows())
async def test_a_command_gives_its_output_and_its_exit_code(desk: Desk, shell: str, case: Case) -> None:
    answer = await desk.run(await desk.shared_pane(shell), case.command)
    assert answer["status"] == ("completed" if case.exit_code == 0 else "failed"), answer
    assert not answer["timedOut"]
    assert not answer["waitingForInput"]
    if case.name == "a-syntax-error":
        assert answer["exitCode"] > 0
        assert ")" in answer["output"]
    elif case.name == "a-signal":
        assert answer["exitCode"] == case.exit_code
    elif case.name == "a-background-program":
        assert "done\n" in answer["output"]
    elif case.name == "many-words-that-tmux-knows":
        assert answer["output"].startswith("#{pane_id} #(touch x) ; -- /")
    else:
        assert answer["output"] == case.output
        assert answer["exitCode"] == case.exit_code
        assert not answer["outputTruncated"]


@pytest.mark.parametrize("shell", SHELLS)
async def test_what_a_command_changes_in_the_shell_lasts(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    is_fish = shell == "fish"
    for command in (
        "cd /usr",
        "set -gx GREETING hello" if is_fish else "export GREETING=hello",
        "function twice; echo $argv $argv; end" if is_fish else 'twice() { echo "$1" "$1"; }',
    ):
        assert (await desk.run(pane, command))["exitCode"] == 0
    answer = await desk.run(pane, "pwd; sh -c 'echo $GREETING'; twice x")
    assert answer["output"] == "/usr\nhello\nx x\n"
    await desk.run(pane, "sh -c 'exit 7'")
    assert (await desk.run(pane, "echo $status" if is_fish else "echo $?"))["output"] == "7\n"


@pytest.mark.parametrize("shell", SHELLS)
async def test_an_exit_tells_its_code_and_closes_the_pane(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    await desk.run(pane, "echo first")
    answer = await desk.run(pane, "exit 3")
    assert (answer["status"], answer["exitCode"]) == ("failed", 3)
    assert shell == "fish" or "shell ended" in answer["reason"]

    async def is_gone() -> bool:
        return pane not in desk.run_tmux("list-panes", "-a", "-F", "#{pane_id}").split()

    await eventually(is_gone)


@pytest.mark.parametrize("shell", SHELLS)
async def test_an_unfinished_command_is_told_at_once_and_the_next_one_runs(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    answer = await desk.run(pane, 'echo "unbalanced')
    assert (answer["status"], answer["waitingForInput"], answer["timedOut"]) == ("running", True, False)
    assert "not complete" in answer["reason"]
    assert (await desk.run(pane, "echo next"))["output"] == "next\n"
    assert (await desk.get_result(answer))["status"] == "cancelled"


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_person_sees_only_prompts_commands_and_output(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    await desk.run(pane, "cd /")
    await desk.run(pane, "echo one")
    await desk.run(pane, "echo two")
    lines = [line for line in desk.screen(pane).splitlines() if line.strip()]
    assert lines[-4].endswith("echo one") or lines[-5].endswith("echo one")
    assert "one" in lines
    assert "two" in lines
    assert not [line for line in lines if "muxpilot" in line or "133;" in line or "\x1b" in line]
