"""Names that a stranger finds: verb phrases for functions, one meaning for each class name."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict

from tests.contract.source import definitions, files, place

# One word that ends like a participle, but is a noun or a verb; a tool's `listing` is its row in tools/list.
NOT_PARTICIPLES = frozenset(
    "feed need embed seed speed thread spread read shed bed red warning timing listing".split()
)
# Participles without -ed or -ing that version 1 used as names of functions.
IRREGULAR = frozenset(
    "aimed told seen shown known given taken chosen found heard kept made gone bound led met put written "
    "spoken born drawn left lost held meant sent set spent stood thought understood won worn hidden".split()
) - {"set", "put"}
# Words that mean something else than what the function does.
METAPHORS = frozenset(
    "bear rebear bury stir heed hurry speak leash foresee permit admit gate tombstone birth burial".split()
)

# Class names that two modules may share, with the reason.
SHARED: dict[str, str] = {}


def is_participle(name: str) -> bool:
    word = name.lstrip("_")
    if "_" in word or word in NOT_PARTICIPLES:
        return False
    return word in IRREGULAR or word.endswith(("ed", "ing"))


def test_no_function_or_property_is_a_one_word_participle() -> None:
    wrong = [
        str(item)
        for item in definitions()
        if not isinstance(item.node, ast.ClassDef) and is_participle(item.node.name)
    ]
    assert wrong == []


def test_no_function_is_a_metaphor() -> None:
    wrong = [str(item) for item in definitions() if item.node.name.lstrip("_").lower() in METAPHORS]
    assert wrong == []


def test_a_class_name_has_one_meaning_in_the_tree() -> None:
    places = defaultdict(list)
    for item in definitions():
        if isinstance(item.node, ast.ClassDef):
            places[item.node.name.lstrip("_")].append(item.path)
    wrong = {name: where for name, where in places.items() if len(where) > 1 and name not in SHARED}
    assert wrong == {}
    assert all(SHARED.values())


def test_no_module_has_the_name_of_a_standard_one_or_a_participle() -> None:
    # `trace` is the name that the design gives to logging; imports are absolute, so nothing is shadowed.
    standard = sys.stdlib_module_names - {"__init__", "__main__", "trace"}
    assert [place(path) for path in files() if path.stem in standard or is_participle(path.stem)] == []
