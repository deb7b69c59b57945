# ruff: noqa: N815 - the visitors are named after the nodes, as ast.NodeVisitor wants it
"""Local variables in place of the evaluation stack, so that a paused frame can be read.

What a frame will do depends on where it is, on its local variables, and on its evaluation stack, which nobody can see.
Of what can be there while a call is in progress, the iterators of loops, the context managers of `with` statements and
what is about to be returned are bound to names here; comprehensions become functions with loops. The operands of
instrumented operations are bound to names already (:mod:`.context`). What is left is told by :mod:`.call_sites`.
"""

import ast
from typing import Final, cast

from . import build
from .call_sites import has_calls
from .names import COMPREHENSION, CONTEXT, ITERATOR, PREFIX, Comprehension

_RESULT: Final = "_kc_result"
_MADE: Final = "_kc_made"
_KEY: Final = "_kc_key"
_ELEMENT: Final = "_kc_element"
_GIVEN: Final = "_kc_given"
_CONSUMERS: Final = frozenset({"sorted", "list", "set", "tuple", "dict", "frozenset"})
"""What exhausts its argument before it does anything that others could notice."""


def expose(tree: ast.Module) -> ast.Module:
    """Bind what can be bound in the functions of an instrumented module; `tree` itself is changed."""
    _Binder().visit(tree)
    return tree


class _Binder(ast.NodeTransformer):
    def __init__(self) -> None:
        self._depth = 0
        self._helpers: list[ast.stmt] | None = None

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        outside, self._helpers = self._helpers, []
        node.body = self._block(node.body)
        first = 1 if ast.get_docstring(node, clean=False) is not None else 0
        node.body[first:first] = self._helpers
        self._helpers = outside
        return node

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        if self._helpers is None:
            return self.generic_visit(node)
        name = f"{ITERATOR}_{self._depth}"
        iterable: ast.expr = self.visit(node.iter)
        bound = build.place(ast.Assign([build.store(name)], build.call("start", iterable)), iterable)
        node.iter = build.place(build.load(name), iterable)
        return [bound, self._inner(node), _cleared(name, node)]

    def visit_With(self, node: ast.With) -> ast.AST | list[ast.stmt]:
        if self._helpers is None:
            return self.generic_visit(node)
        first, rest = node.items[0], node.items[1:]
        if rest:
            node.items = [first]
            node.body = [ast.copy_location(ast.With(rest, node.body), node)]
        name = f"{CONTEXT}_{self._depth}"
        manager: ast.expr = self.visit(first.context_expr)
        bound = build.place(ast.Assign([build.store(name)], manager), manager)
        first.context_expr = build.place(build.load(name), manager)
        return [bound, self._inner(node), _cleared(name, node)]

    def visit_Return(self, node: ast.Return) -> ast.AST | list[ast.stmt]:
        if self._helpers is None or node.value is None or isinstance(node.value, ast.Constant):
            return self.generic_visit(node)
        value: ast.expr = self.visit(node.value)
        bound = build.place(ast.Assign([build.store(_RESULT)], value), node)
        node.value = build.place(build.load(_RESULT), value)
        return [bound, node]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp() as only], keywords=[]) if name in _CONSUMERS:
                node.args = [ast.copy_location(ast.ListComp(only.elt, only.generators), only)]
        return self.generic_visit(node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self._comprehension(node, ast.List([], ast.Load()), _method("append"))

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        return self._comprehension(node, build.call("set"), _method("add"))

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        target = ast.Subscript(build.load(_MADE), build.load(_KEY), ast.Store())
        return self._comprehension(node, ast.Dict([], []), ast.Assign([target], build.load(_ELEMENT)))

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp, empty: ast.expr, keep: ast.stmt
    ) -> ast.AST:
        """A comprehension that makes calls becomes the call of a function, which is defined where its scope begins."""
        if self._helpers is None or not _can_be_a_function(node):
            return self.generic_visit(node)
        body: list[ast.stmt] = []
        if isinstance(node, ast.DictComp):
            body.append(ast.Assign([build.store(_KEY)], node.key))
        body += [ast.Assign([build.store(_ELEMENT)], node.value if isinstance(node, ast.DictComp) else node.elt), keep]
        for number, loop in reversed(list(enumerate(node.generators))):
            for condition in reversed(loop.ifs):
                body = [ast.If(condition, body, [])]
            body = [ast.For(loop.target, loop.iter if number else build.load(_GIVEN), body, [])]
        name = f"{COMPREHENSION}_{len(self._helpers)}_{node.lineno}"
        body = [ast.Assign([build.store(_MADE)], empty), *body, ast.Return(build.load(_MADE))]
        helper = cast(ast.FunctionDef, ast.parse(f"def {name}({_GIVEN}): pass").body[0])
        helper.body = [build.place(statement, node) for statement in body]
        self._helpers.append(self.visit(ast.copy_location(helper, node)))
        return build.place(ast.Call(build.load(name), [self.visit(node.generators[0].iter)], []), node)

    def _block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for statement in statements:
            visited = self.visit(statement)
            found += visited if isinstance(visited, list) else [visited]
        return found

    def _without_helpers(self, node: ast.AST) -> ast.AST:
        outside, self._helpers = self._helpers, None
        self.generic_visit(node)
        self._helpers = outside
        return node

    visit_ClassDef = visit_Lambda = visit_AsyncFunctionDef = _without_helpers

    def _inner(self, node: ast.For | ast.With) -> ast.stmt:
        self._depth += 1
        node.body = self._block(node.body)
        if isinstance(node, ast.For):
            node.orelse = self._block(node.orelse)
        self._depth -= 1
        return node


def _can_be_a_function(node: Comprehension) -> bool:
    """Whether it makes calls, and means the same in a function of its own."""
    if not has_calls(node) or any(loop.is_async for loop in node.generators):
        return False
    for part in ast.walk(node):
        if isinstance(part, ast.NamedExpr) and not part.target.id.startswith(PREFIX):
            return False
        if isinstance(part, ast.Name) and part.id in ("super", "__class__", "locals"):
            return False
    return True


def _method(name: str) -> ast.stmt:
    function = ast.Attribute(build.load(_MADE), name, ast.Load())
    return ast.Expr(ast.Call(function, [build.load(_ELEMENT)], []))


def _cleared(name: str, source: ast.AST) -> ast.stmt:
    return build.place(ast.Assign([build.store(name)], ast.Constant(None)), source)
