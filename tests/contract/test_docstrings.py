"""Docstrings that say who does what: each begins with a verb."""

from __future__ import annotations

import ast
import re

from tests.contract.source import ROOT, SOURCE, definitions, files, place, tree

# The verbs that a docstring may begin with. Add one where a function does something new.
VERBS = frozenset(
    """
    Accept Acquire Add Adjust Allow Answer Append Apply Ask Assemble Attach Begin Build Call Cancel Capture
    Change Check Choose Classify Clear Close Collect Combine Compare Compile Complete Compute Configure
    Confirm Connect Consume Continue Convert Copy Count Create Cut Decide Declare Decode Decorate Delete
    Deliver Describe Detach Detect Discard Dispatch Do Drain Draw Drive Drop Dump Encode End Ensure Enter
    Erase Escape Evaluate Exchange Execute Exit Expand Explain Export Extract Feed Fetch Fill Filter Find
    Finish Fire Fit Flush Follow Forget Format Forward Gather Generate Get Give Group Guess Handle Hide Hold
    Ignore Include Insert Install Interpret Interrupt Join Judge Keep Kill Learn Leave Let Limit List Listen
    Load Locate Lock Log Look Lose Make Map Mark Match Measure Merge Move Name Normalize Note Notify Offer
    Open Order Pack Paint Parse Pass Paste Pause Pick Place Play Prepare Press Print Process Produce Prove
    Publish Push Put Queue Quote Raise Read Receive Recognize Record Recover Reduce Refuse Register Reject
    Release Remember Remove Rename Render Repeat Replace Report Represent Request Reserve Reset Resize
    Resolve Respawn Restore Retry Return Reveal Rotate Run Save Say Scan Search See Select Send Separate
    Serialize Serve Set Settle Shorten Show Shut Skip Sort Split Start Stop Store Strip Submit Subscribe
    Summarize Swap Switch Take Tell Terminate Test Throw Time Track Translate Treat Truncate Try Turn Type
    Undo Unlock Unquote Unsubscribe Update Use Validate Verify Wait Wake Walk Warn Watch Withdraw Wrap Write
    Yield
    """.split()
)


def first_word(text: str) -> str:
    return text.split(maxsplit=1)[0].rstrip(".,:;") if text.split() else ""


def test_every_docstring_of_a_function_begins_with_a_verb() -> None:
    wrong = []
    for item in definitions():
        if isinstance(item.node, ast.ClassDef):
            continue
        text = ast.get_docstring(item.node)
        if text is not None and first_word(text) not in VERBS:
            wrong.append(f"{item}: {text.splitlines()[0][:80]}")
    assert wrong == []


def test_every_public_function_has_a_docstring() -> None:
    """Properties, overrides of `__dunder__` methods and functions of at most three lines may do without."""
    wrong = [
        str(item)
        for item in definitions()
        if not isinstance(item.node, ast.ClassDef)
        and not item.node.name.startswith("_")
        and ast.get_docstring(item.node) is None
        and (item.node.body[-1].end_lineno or 0) - item.node.body[0].lineno >= 3
    ]
    assert wrong == []


def test_every_module_says_what_is_in_it() -> None:
    assert [place(path) for path in files() if not ast.get_docstring(tree(path))] == []


# Words of the private dialect of version 1. "nobody" and "somebody" hide which program or person is meant.
DIALECT = re.compile(
    r"\b(somebody|nobody|everybody|anybody|anew|hitherto|whither|thereof|as ever)\b", re.IGNORECASE
)


def test_prose_names_its_subjects() -> None:
    pages = {*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")} - {
        ROOT / "SPECIFICATION.md"
    }  # it quotes the contract
    scripts = [path for path in SOURCE.rglob("*.*") if path.suffix in (".js", ".html", ".sh")]
    wrong = [
        f"{path.relative_to(ROOT)}:{number} {found}"
        for path in sorted([*files(), *pages, *scripts])
        for number, line in enumerate(path.read_text().splitlines(), 1)
        for found in DIALECT.findall(line)
    ]
    assert wrong == []
