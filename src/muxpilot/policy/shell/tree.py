"""The syntax tree of a shell text by tree-sitter's bash grammar, corrected where that grammar is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from muxpilot.policy.shell.words import Word, unquote

if TYPE_CHECKING:
    from tree_sitter import Language, Node

_HARMLESS_REDIRECT = re.compile(r"\d*(?:[<>]&[\d-]+-?|(?:&>>?|>>?|>\||>&)\s*/dev/null|<\s*/dev/null)")
_LINE_END = re.compile(rb"(?<!\\)(?:\\\\)*\n")
_ONE_WORD = frozenset({"word", "variable_name", "simple_expansion", "number", "file_descriptor"})
_ONE_LINE = frozenset(
    "command file_redirect variable_assignment concatenation declaration_command unset_command "
    "herestring_redirect command_name".split()
)


@cache
def _language() -> Language:
    from tree_sitter import Language  # loaded when a filter is first used
    from tree_sitter_bash import language

    return Language(language())


def parse(text: str) -> Node:
    """Parse with a new parser: a parser must not be shared between threads."""
    from tree_sitter import Parser

    return Parser(_language()).parse(text.encode()).root_node


def walk(root: Node) -> Iterator[Node]:
    """Yield all nodes, without recursion: a text may be nested as deep as it is long."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def source_of(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def is_misread(node: Node) -> bool:
    """Return whether the grammar has read a node differently than a shell does.

    It sometimes reads on over the end of a line, before a backslash or after a lone `$`. It also ends an
    assignment before a backslash, and skips empty backticks.
    """
    if node.type in _ONE_WORD:
        return _LINE_END.search(node.text or b"") is not None
    if node.type == "concatenation" and any(gap.replace(b"\\\n", b"") for gap in _gaps(node)):
        return True
    if node.type == "command" and _is_cut_off(node):
        return True
    return node.type in _ONE_LINE and any(_LINE_END.search(gap) for gap in _gaps(node))


def _is_cut_off(command: Node) -> bool:
    pairs = zip(command.children, command.children[1:], strict=False)
    return any(one.type == "variable_assignment" and one.end_byte == two.start_byte for one, two in pairs)


def _gaps(node: Node) -> Iterator[bytes]:
    """Yield the bytes between the parts of a node."""
    end = node.start_byte
    for child in node.children:
        yield (node.text or b"")[end - node.start_byte : child.start_byte - node.start_byte]
        end = child.end_byte


def words_of(command: Node) -> list[str]:
    """Return a command's words. The grammar takes a line continuation for a blank, but it joins two words."""
    words: list[str] = []
    parts = [
        child
        for at, child in enumerate(command.children)
        if command.field_name_for_child(at) in ("name", "argument") or child.type == "subshell"
    ]
    whole, start, end = command.text or b"", command.start_byte, -1
    for part in parts:
        if words and not whole[end - start : part.start_byte - start].replace(b"\\\n", b""):
            words[-1] += source_of(part)
        else:
            words.append(source_of(part))
        end = part.end_byte
    return words + [word for redirect in _redirect_nodes(command) for word in _words_after(redirect)]


def _words_after(redirect: Node) -> list[str]:
    """Return the words after a redirection's own: the grammar gives it all that follow, as in `>o rm x`."""
    own = redirect.children_by_field_name("destination")
    return [source_of(word) for word in own[1:]]


def _redirect_nodes(command: Node) -> list[Node]:
    outer = command.parent
    around = outer.children if outer is not None and outer.type == "redirected_statement" else []
    return [node for node in (*command.children, *around) if node.type == "file_redirect"]


def all_redirects(command: Node) -> list[str]:
    outer = command.parent
    own = redirects_of(command)
    return own + (redirects_of(outer) if outer is not None and outer.type == "redirected_statement" else [])


def redirects_of(node: Node) -> list[str]:
    """Return the redirections, without copies of descriptors and the null device, which are harmless."""
    sources = [_redirect_source(child) for child in node.children if child.type == "file_redirect"]
    return [unquote(source).text for source in sources if not _HARMLESS_REDIRECT.fullmatch(source)]


def _redirect_source(redirect: Node) -> str:
    own = redirect.children_by_field_name("destination")
    end = own[0].end_byte if own else redirect.end_byte
    return (redirect.text or b"")[: end - redirect.start_byte].decode("utf-8", "replace")


def find_input(node: Node) -> Iterator[Word | None]:
    """Yield what feeds a command's stdin, innermost first. Yield None for what is known only at run time."""
    inner: Node | None = None
    at: Node | None = node
    while at is not None:
        yield from _find_redirected_input(at, inner)
        if at.type == "pipeline" and inner is not None and at.children[0] != inner:
            yield None
        if at.type in ("heredoc_redirect", "function_definition"):
            yield None
        inner, at = at, at.parent


def _find_redirected_input(node: Node, inner: Node | None) -> Iterator[Word | None]:
    """Yield what each redirection of stdin gives, None for a file. `inner` does not get its own text."""
    for child in node.children:
        if child.type == "herestring_redirect":
            yield unquote(source_of(child.children[-1]))
        elif child.type == "heredoc_redirect" and child != inner:
            yield _here_document(child)
        elif child.type == "file_redirect" and source_of(child).lstrip("0123456789").startswith("<"):
            yield None


def _here_document(node: Node) -> Word:
    start = next((source_of(child) for child in node.children if child.type == "heredoc_start"), "")
    body = next((source_of(child) for child in node.children if child.type == "heredoc_body"), "")
    is_fixed = any(quote in start for quote in "'\"\\") or not re.search(r"[$`]", body)
    return Word(body, body, is_fixed)
