"""Builders of small syntax trees."""

import ast
from collections.abc import Sequence
from typing import TypeVar

from .names import Hook, hook_name

Node = TypeVar("Node", bound=ast.AST)


def place(node: Node, source: ast.AST) -> Node:
    """Set the position of `node`, and of its descendants that have none, to the position of `source`; return it."""
    if hasattr(source, "lineno"):
        position = source.lineno, source.col_offset, source.end_lineno, source.end_col_offset  # type: ignore[attr-defined]
        todo: list[ast.AST] = [node]
        for child in todo:
            if not hasattr(child, "lineno"):
                if child._attributes:
                    child.lineno, child.col_offset, child.end_lineno, child.end_col_offset = position  # type: ignore[attr-defined]
                todo += children(child)
    return node


def place_all(tree: ast.Module) -> ast.Module:
    """Set the position of each node that has none to its parent's; a faster `ast.fix_missing_locations`."""
    todo: list[tuple[ast.AST, tuple[int, int, int, int]]] = [(tree, (1, 0, 1, 0))]
    while todo:
        node, position = todo.pop()
        if node._attributes:
            if hasattr(node, "lineno"):
                position = node.lineno, node.col_offset, node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
            else:
                node.lineno, node.col_offset, node.end_lineno, node.end_col_offset = position  # type: ignore[attr-defined]
        todo += [(child, position) for child in children(node)]
    return tree


def children(node: ast.AST) -> list[ast.AST]:
    """Return the direct children of a node; a faster `ast.iter_child_nodes`."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if type(value) is list:
            found += [part for part in value if isinstance(part, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def load(name: str) -> ast.Name:
    """Return an expression that reads a name."""
    return ast.Name(name, ast.Load())


def store(name: str) -> ast.Name:
    """Return a target that binds a name."""
    return ast.Name(name, ast.Store())


def call(hook: Hook, *arguments: ast.expr) -> ast.Call:
    """Return a call of a hook."""
    return ast.Call(load(hook_name(hook)), list(arguments), [])


def either(*parts: ast.expr) -> ast.expr:
    """Return an `or` expression that evaluates its parts in turn; all parts but the last must be false."""
    flat: list[ast.expr] = []
    for part in parts[:-1]:
        flat.extend(part.values if isinstance(part, ast.BoolOp) and isinstance(part.op, ast.Or) else [part])
    return ast.BoolOp(ast.Or(), [*flat, parts[-1]]) if flat else parts[-1]


def bind(name: str, value: ast.expr) -> ast.expr:
    """Return an expression that binds a name and is false."""
    return ast.Compare(ast.NamedExpr(store(name), value), [ast.Is()], [load(hook_name("never"))])


def loud(operands: Sequence[ast.expr], hook: ast.expr, quiet: Hook = "quiet") -> ast.expr:
    """Return an expression that evaluates `hook` only if the type of an operand is not in the set `quiet`."""
    tests: list[ast.expr] = [
        ast.Compare(call("type", operand), [ast.NotIn()], [load(hook_name(quiet))]) for operand in operands
    ]
    test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), tests)
    return ast.BoolOp(ast.And(), [test, hook])


def names_parameters(names: Sequence[str]) -> ast.arguments:
    """Return the parameter list of a lambda that takes `names`."""
    return ast.arguments(
        posonlyargs=[], args=[ast.arg(name) for name in names], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
