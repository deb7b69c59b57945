"""Calls that can be in progress while nothing is on the evaluation stack that is in no local variable."""

import ast
from collections.abc import Iterable
from typing import Final

from . import build
from .facts import Facts
from .names import COMPREHENSION, PREFIX, SITES, hook_name

CALL: Final = "call"
YIELD: Final = "yield"

Site = tuple[str, int, int]
"""(:data:`CALL` or :data:`YIELD`, line and column where it ends): no two of a kind end at the same place."""

Path = tuple[str, ...]
"""What is called: a name, and attributes; empty for a lambda expression or anything else."""

_QUIET_CONTEXTS = ast.expr_context | ast.operator | ast.unaryop | ast.cmpop | ast.boolop


def note_call_sites(tree: ast.Module, facts: Facts) -> ast.Module:
    """Put a table of these calls into the globals of an instrumented module: site -> what is called.

    Args:
        tree: the module, after all other changes; it is changed.
        facts: what is known of all modules that are instrumented together.
    """
    search = _Search(tree, facts)
    search.visit(tree)
    table = ast.Dict([_literal(site) for site in search.found], [_literal(path) for path in search.found.values()])
    # Only this is new: to go through the whole tree once more would take as long as everything else here.
    tree.body.append(ast.fix_missing_locations(ast.Assign([build.store(SITES)], table, lineno=1, col_offset=0)))
    return tree


def has_calls(node: ast.AST) -> bool:
    """Whether anything is called beneath `node`, hooks and the lambda expressions around them not counted."""
    return any(
        isinstance(part, ast.Call) and not isinstance(part.func, ast.Lambda) and not _is_hook(part.func)
        for part in ast.walk(node)
    )


class _Search(ast.NodeVisitor):
    def __init__(self, tree: ast.Module, facts: Facts) -> None:
        self.found: dict[Site, Path] = {}
        self._facts = facts
        self._rebound: set[str] = set()
        self._volatile: set[str] = set()
        self._rebinds = False
        for node in ast.walk(tree):
            if isinstance(node, ast.Nonlocal | ast.Global):
                self._volatile.update(node.names)
            elif isinstance(node, ast.NamedExpr):
                self._rebinds |= not node.target.id.startswith(PREFIX)

    def generic_visit(self, node: ast.AST) -> None:
        """Look at a statement, or at anything else that has statements."""
        match node:
            case ast.AsyncFunctionDef() | ast.AsyncFor() | ast.AsyncWith():
                return
            case ast.If() | ast.While():
                self._begin(node.test)
                self._look(node.test, False)
                self._visit_all(node.body, node.orelse)
            case ast.For():
                self._begin(node.iter, node.target)
                self._look(node.iter, False)
                self._look(node.target, True)
                self._visit_all(node.body, node.orelse)
            case ast.With():
                for item in node.items:
                    self._begin(item)
                    self._look(item.context_expr, False)
                    self._parts([item.optional_vars], True)
                self._visit_all(node.body)
            case ast.Match():
                self._begin(node.subject)
                self._look(node.subject, False)
                for case in node.cases:
                    self._visit_all(case.body)
            case ast.Assert():
                self._begin(node)
                self._look(node.test, False)
                self._parts([node.msg], False)
            case ast.Assign():
                self._begin(node)
                self._parts([node.value, *node.targets], False)
            case ast.Delete():
                self._begin(node)
                for target in node.targets:
                    self._look(target, False)
            case ast.Try() | ast.TryStar():
                self._visit_all(node.body, node.handlers, node.orelse, node.finalbody)
            case ast.FunctionDef() | ast.ClassDef() | ast.ExceptHandler() | ast.Module():
                self._visit_all(node.body)
            case _:
                self._begin(node)
                self._parts(_expressions_of(node), False)

    def _begin(self, *nodes: ast.AST) -> None:
        if self._rebinds:
            parts = (part for node in nodes for part in ast.walk(node))
            self._rebound = {part.target.id for part in parts if isinstance(part, ast.NamedExpr)}

    def _visit_all(self, *blocks: Iterable[ast.AST]) -> None:
        for block in blocks:
            for statement in block:
                self.visit(statement)

    def _look(self, node: ast.expr, hidden: bool) -> None:
        """Look at an expression.

        Args:
            node: the expression.
            hidden: whether there is something on the stack that is in no local variable while it is evaluated.
        """
        match node:
            case ast.Call():
                if not hidden and not _is_hook(node.func):
                    self._note(CALL, node, _path_of(node.func))
                self._parts([node.func, *node.args, *(keyword.value for keyword in node.keywords)], hidden)
            case ast.BoolOp() | ast.IfExp():
                for part in _expressions_of(node):
                    self._look(part, hidden)
            case ast.Lambda():
                self._parts([*node.args.defaults, *node.args.kw_defaults], hidden)
                self._look(node.body, False)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self._look(node.generators[0].iter, hidden)
            case ast.Await() | ast.YieldFrom():
                return
            case ast.Yield():
                if not hidden:
                    self._note(YIELD, node, ())
                self._parts([node.value], hidden)
            case _:
                self._parts(_expressions_of(node), hidden)

    def _parts(self, parts: Iterable[ast.expr | None], hidden: bool) -> None:
        """Look at expressions whose values are kept on the stack until all are there."""
        for part in parts:
            if part is not None:
                self._look(part, hidden)
                hidden = hidden or not self._is_visible(part)

    def _note(self, kind: str, node: ast.expr, path: Path) -> None:
        if node.end_lineno is not None and node.end_col_offset is not None:
            self.found[kind, node.end_lineno, node.end_col_offset] = path

    def _is_visible(self, node: ast.expr) -> bool:
        """Whether the value is known from the place and the local variables, as long as the frame waits."""
        match node:
            case ast.Constant() | ast.Lambda():
                return True
            case ast.Name(id=name):
                return name.startswith(PREFIX) or not (name in self._volatile or name in self._rebound)
            case ast.NamedExpr(target=target):
                return target.id.startswith(PREFIX)
            case ast.BoolOp(values=values):
                return self._is_visible(values[-1]) and all(_is_hook(value) for value in values[:-1])
            case ast.Attribute(value=value, attr=attribute):
                return self._is_fixed(attribute) and self._is_visible(value)
            case ast.Tuple(elts=elements):
                return all(self._is_visible(element) for element in elements)
        return False

    def _is_fixed(self, attribute: str) -> bool:
        """Whether an attribute means the same as long as the program runs."""
        is_private = attribute.startswith("__") and not attribute.endswith("__")
        return not (is_private or self._facts.is_mutable(attribute) or self._facts.is_class_level(attribute))


def _expressions_of(node: ast.AST) -> list[ast.expr]:
    """The expressions right beneath a node, or beneath parts of it that are none."""
    found: list[ast.expr] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            found.append(child)
        elif not isinstance(child, _QUIET_CONTEXTS):
            found += _expressions_of(child)
    return found


def _path_of(node: ast.expr) -> Path:
    match node:
        case ast.Name(id=name):
            return (name,)
        case ast.NamedExpr(target=target):
            return (target.id,)
        case ast.Attribute(value=value, attr=attribute):
            path = _path_of(value)
            return (*path, attribute) if path else ()
    return ()


def _literal(value: object) -> ast.expr:
    return ast.parse(repr(value), mode="eval").body


def _is_hook(node: ast.expr) -> bool:
    """Whether it is a hook, or a call of one, or a test whether there is a need for one."""
    match node:
        case ast.Name(id=name):
            return name.startswith(PREFIX) and not name[len(PREFIX) :].isdigit() and not name.startswith(COMPREHENSION)
        case ast.Call(func=function):
            return _is_hook(function)
        case ast.Compare(left=left, comparators=[last]):
            return _is_hook(left) or (isinstance(last, ast.Name) and last.id == hook_name("never"))
        case ast.BoolOp(values=values):
            return all(_is_hook(value) for value in values)
    return False
