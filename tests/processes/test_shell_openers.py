"""Which command lines open a shell inside the pane."""

from __future__ import annotations

import pytest

from muxpilot.processes.shell_openers import find_shell_opener, opens_shell

OPENERS = {
    "ssh host": "ssh",
    "ssh -p 2222 -o BatchMode=yes user@host": "ssh",
    "ssh -t host 'bash --norc'": "ssh",
    "cd src && ssh host": "ssh",
    "true\nssh host": "ssh",
    "su - tester": "su",
    "sudo -i": "sudo",
    "sudo -u tester bash": "sudo",
    "docker exec -it web sh": "docker",
    "kubectl exec -it pod -- sh": "kubectl",
    "nix-shell -p hello": "nix-shell",
    "nix develop": "nix",
    "poetry shell": "poetry",
    "FOO=1 zsh -f": "zsh",
    "bash --norc": "bash",
    "busybox sh": "busybox",
    "chroot /mnt": "chroot",
}
OTHERS = (
    "make",
    "ssh host make",
    "ssh -t host make",
    "git log | ssh host cat",
    "echo 'a; ssh host'",
    'echo "open',
    "su -c id tester",
    "sudo make install",
    "docker exec web ls",
    "docker run --rm web",
    "nix-shell --run make",
    "bash script.sh",
    "bash -c 'ssh host'",
    "python3",
    "",
)


@pytest.mark.parametrize("text", OPENERS)
def test_a_line_that_opens_a_shell_is_known_by_its_program(text: str) -> None:
    assert find_shell_opener(text) == OPENERS[text]


@pytest.mark.parametrize("text", OTHERS)
def test_another_line_opens_none(text: str) -> None:
    assert find_shell_opener(text) is None


def test_a_script_is_known_by_its_own_name() -> None:
    assert opens_shell(["/usr/bin/python3", "/usr/bin/pipenv", "shell"])
    assert not opens_shell(["/usr/bin/python3", "/usr/bin/pipenv", "install"])
    assert not opens_shell([])
