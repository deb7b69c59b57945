"""Locality: local variables that only ever hold containers that no other thread can know. They need no reports."""

import ast
from collections.abc import Iterator
from typing import Final

from ..knowledge.functions import CONSUMING_BUILTINS, NEW_BUILTINS, VARIABLE_BUILTINS
from ..knowledge.tables import METHOD_NAMES, VIEW_NAMES
from .names import mangle
from .scopes import Scope

NEW: Final = ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp
"""Expressions whose value is always a new container."""
_DELAYED: Final = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef | ast.GeneratorExp


def private_names(scope: Scope, module: Scope) -> frozenset[str]:
    """Return the variables of a function that only hold new containers, which leave it by `return` or never."""
    candidates = {
        name
        for name, values in scope.values.items()
        if values
        and name not in scope.parameters | scope.global_names | scope.nonlocal_names | scope.published
        and all(value is not None and _is_new(value, scope, module) for value in values)
    }
    if not candidates or any(
        isinstance(node, ast.Name) and node.id in VARIABLE_BUILTINS for node in ast.walk(scope.node)
    ):
        return frozenset()
    generator = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(scope.node))
    holders = candidates - scope.held.keys()
    for name, path in _uses(scope.node, (), scope.class_name):
        if name in candidates and not _is_kept(path, module, returns=not generator):
            candidates.discard(name)
        if not _holds(path):
            holders.discard(name)
    return frozenset(name for name in candidates if scope.held.get(name, set()) <= holders & candidates)


def _is_new(value: ast.expr, scope: Scope, module: Scope) -> bool:
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        name = value.func.id
        return name in NEW_BUILTINS and scope.owner(name) is None and not module.stores.keys() & {name, "*"}
    if isinstance(value, ast.BinOp):
        return _is_new(value.left, scope, module) and _is_new(value.right, scope, module)
    return isinstance(value, NEW)


Path = tuple[ast.AST, ...]


def _uses(node: ast.AST, path: Path, class_name: str | None) -> Iterator[tuple[str, Path]]:
    """Yield each read of a variable, with the nodes around it, the innermost last."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield mangle(node.id, class_name), (*path, node)
    for child in ast.iter_child_nodes(node):
        yield from _uses(child, (*path, node), class_name)


def _is_kept(path: Path, module: Scope, *, returns: bool) -> bool:
    """Whether a use passes the container to no other code, and is not delayed, as the body of a lambda is."""
    if any(isinstance(node, _DELAYED) for node in path[1:]):
        return False
    use, parent = path[-1], path[-2]
    above = path[-3] if len(path) > 2 else None
    if isinstance(parent, ast.Attribute):
        name = parent.attr
        if not isinstance(above, ast.Call) or above.func is not parent or name.startswith("__"):
            return False
        return name in METHOD_NAMES or (name in VIEW_NAMES and _consumes(above, path[-4], module))  # pyright: ignore[reportGeneralTypeIssues]
    if isinstance(parent, ast.Subscript):
        return parent.value is use
    if isinstance(parent, ast.Tuple):
        return returns and isinstance(above, ast.Return)
    if isinstance(parent, ast.Return):
        return returns
    return _consumes(use, parent, module)


def _holds(path: Path) -> bool:
    """Whether a use of a container reads none of its elements: it stores an item, or returns the container."""
    parent = path[-2]
    if isinstance(parent, ast.Subscript):
        return isinstance(parent.ctx, ast.Store) and isinstance(path[-3], ast.Assign)
    return isinstance(parent, ast.Return)


def _consumes(item: ast.AST, parent: ast.AST, module: Scope) -> bool:
    """Whether `parent` reads its child `item` at once, and keeps no reference to it."""
    if isinstance(parent, ast.Call):
        named = isinstance(parent.func, ast.Name) and parent.func.id in CONSUMING_BUILTINS
        return named and parent.func.id not in module.stores and item in parent.args  # type: ignore[attr-defined]
    if isinstance(parent, ast.For | ast.comprehension):
        return parent.iter is item
    if isinstance(parent, ast.If | ast.While | ast.IfExp | ast.Assert):
        return parent.test is item
    if isinstance(parent, ast.UnaryOp):
        return isinstance(parent.op, ast.Not)
    if isinstance(parent, ast.Compare):
        return _only_compares(item, parent)
    return isinstance(parent, ast.FormattedValue)


def _only_compares(item: ast.AST, node: ast.Compare) -> bool:
    """Whether a comparison calls no method of an unknown object, which might keep its argument."""
    (operator, *more), (other, *_) = node.ops, node.comparators
    if more:
        return False
    if isinstance(operator, ast.Is | ast.IsNot) or (isinstance(operator, ast.In | ast.NotIn) and other is item):
        return True
    return all(side is item or isinstance(side, ast.Constant | NEW) for side in (node.left, other))
