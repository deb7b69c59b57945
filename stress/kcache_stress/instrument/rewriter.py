"""Rewriter of modules: a rewritten module reports its accesses to possibly shared state."""

import ast

from . import build
from .facts import Facts
from .names import GLOBALS
from .scopes import find_scopes
from .statements import Statements


def rewrite(
    tree: ast.Module, facts: Facts, *, pauses: bool = False, only_classes: frozenset[str] | None = None
) -> ast.Module:
    """Return the module with a call of a hook immediately before each access; `tree` itself is changed.

    Args:
        tree: the module, as `ast.parse` returns it.
        facts: the facts of all modules that are instrumented together.
        pauses: also call the pause hook at the points where CPython with a GIL can switch threads.
        only_classes: rewrite only these top-level classes.
    """
    rewriter = Statements(tree, find_scopes(tree), facts, pauses=pauses)
    body: list[ast.stmt] = []
    for statement in tree.body:
        if only_classes is None or (isinstance(statement, ast.ClassDef) and statement.name in only_classes):
            body += rewriter.block([statement])
        else:
            body.append(statement)
    start = _first_statement(tree)
    enter = ast.Assign([build.store(GLOBALS)], ast.Call(build.load("globals"), [], []))
    body.insert(
        start, build.place(enter, tree.body[start] if start < len(tree.body) else ast.Pass(lineno=1, col_offset=0))
    )
    tree.body = body
    return build.place_all(tree)


def _first_statement(tree: ast.Module) -> int:
    """Return the position after the docstring and the imports from `__future__`, which must stay first."""
    start = 1 if ast.get_docstring(tree, clean=False) is not None else 0
    while start < len(tree.body):
        statement = tree.body[start]
        if not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__"):
            break
        start += 1
    return start
