"""The language of shipped code: docstrings say what something is or does, and names are nouns and verbs."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_architecture import MODULES, tree_of

NO_BEGINNINGS = frozenset(
    ("What", "Whatever", "Who", "Whoever", "Whose", "Which", "How", "Nor", "Where", "When", "Why")
)
"""First words of docstrings that are half of a sentence: the reader has to guess its subject."""

PARTICIPLES = {
    "asked": 2,
    "done": 7,
    "found": 103,
    "given": 10,
    "kept": 19,
    "left": 56,
    "made": 56,
    "met": 4,
    "put": 2,
    "seen": 13,
    "shown": 18,
    "told": 13,
}
"""Names that say that something happened to a thing, and not what the thing is: how often each is still bound.

The numbers only shrink. Who renames one lowers its number.
"""


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The docstrings of modules, classes and functions, and those below constants and attributes, with their lines."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield statement.lineno, value.value


def bound_names(tree: ast.Module) -> Iterator[str]:
    """The names that a module binds: of functions, classes, parameters, variables and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def half_sentences(tree: ast.Module) -> list[int]:
    """The lines of docstrings that begin with one of :data:`NO_BEGINNINGS`."""
    return [line for line, text in docstrings(tree) if text.split()[:1] and text.split()[0] in NO_BEGINNINGS]


@pytest.mark.parametrize("package", ["kcache", "kcache_model", "kcache_stress", "kcache_conformance"])
def test_docstrings_begin_with_a_noun_or_a_verb(package: str) -> None:
    of_package = [module for module in MODULES if module.partition(".")[0] == package]
    assert {module: lines for module in of_package if (lines := half_sentences(tree_of(module)))} == {}


def test_a_half_sentence_is_noticed() -> None:
    source = 'X = 1\n"""What it is."""\n\ndef f():\n    """Return it."""\n\nclass C:\n    """How it is."""\n'
    assert half_sentences(ast.parse(source)) == [2, 8]


def test_names_that_say_little_become_fewer() -> None:
    counts: Counter[str] = Counter()
    for module in MODULES:
        counts.update(name.strip("_") for name in bound_names(tree_of(module)))
    hint = f"if there are more, choose a name that says what the thing is; if fewer, lower it in {Path(__file__).name}"
    assert {name: counts[name] for name in PARTICIPLES} == PARTICIPLES, hint
