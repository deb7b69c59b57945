"""Common part of the rewriter: the context, the facts, and the mangling of private names."""

import ast
import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from . import build
from .context import Context
from .facts import Facts
from .inference import Inference
from .names import GLOBALS, cell_token, mangle
from .scopes import Scope

_DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


class Rewriting(ast.NodeTransformer):
    """The state of one rewrite."""

    def __init__(self, tree: ast.Module, scopes: dict[ast.AST, Scope], facts: Facts, *, pauses: bool) -> None:
        self.scopes = scopes
        self.facts = facts
        self.pauses = pauses
        self.module = scopes[tree]
        self.inference = Inference(self.module)
        self.context = Context(self.module, quiet=True)
        self.functions = frozenset(_plain_functions(tree, self.module))

    @contextmanager
    def inside(self, context: Context) -> Iterator[Context]:
        """Use another context within the with-block."""
        outer, self.context = self.context, context
        try:
            yield context
        finally:
            self.context = outer

    def visit(self, node: ast.AST) -> Any:
        """Visit a node; in code that runs while the module is imported, only definitions are rewritten."""
        if self.context.quiet and not isinstance(node, _DEFINITIONS):
            return self.generic_visit(node)
        return super().visit(node)

    def expression(self, node: ast.expr) -> ast.expr:
        """Rewrite an expression."""
        return cast(ast.expr, self.visit(node))

    def expressions(self, nodes: list[ast.expr]) -> list[ast.expr]:
        """Rewrite several expressions."""
        return [self.expression(node) for node in nodes]

    def mangled(self, name: str) -> str:
        """Return the name that Python uses at run time in this scope."""
        return mangle(name, self.context.scope.class_name)

    def report(self, owner: ast.expr, slot: str | None, write: int) -> ast.expr:
        """Return a direct call of the report function."""
        return build.call("report", owner, ast.Constant(slot), ast.Constant(write))

    @functools.cached_property
    def _annotates_later(self) -> bool:
        """Whether annotations are stored as texts or evaluated lazily."""
        statements = cast(ast.Module, self.module.node).body
        futures = (each for each in statements if isinstance(each, ast.ImportFrom) and each.module == "__future__")
        return sys.version_info >= (3, 14) or any(name.name == "annotations" for each in futures for name in each.names)

    @property
    def evaluates_annotations(self) -> bool:
        """Whether annotations are evaluated in this code while threads may run."""
        return not self.context.quiet and not self._annotates_later

    def report_name(self, name: str, write: int) -> ast.expr | None:
        """Return the report of an access to a variable; None if it needs no report."""
        mangled = self.mangled(name)
        owner = self.context.scope.owner(mangled)
        if owner is None:
            if self.facts.is_written_global(mangled):
                return self.report(build.load(GLOBALS), mangled, write)
        elif mangled in owner.cells and owner.kind == "function":
            return self.report(build.load(cell_token(mangled)), mangled, write)
        return None

    def cell_tokens(self, scope: Scope) -> list[ast.stmt]:
        """Return the statements that create the tokens of a function's changing closure variables."""
        return [ast.Assign([build.store(cell_token(name))], build.call("cell")) for name in sorted(scope.cells)]

    def is_unshared(self, node: ast.expr) -> bool:
        """Whether accesses to the value of an original expression need no report."""
        return self.inference.is_unshared(node, self.context.scope)

    def is_flat(self, node: ast.expr) -> bool:
        """Whether reading the elements of the value of an original expression needs no report."""
        return self.inference.is_flat(node, self.context.scope)

    def is_scalar(self, node: ast.expr) -> bool:
        """Whether the value of an original expression is certainly no container."""
        return self.inference.is_scalar(node, self.context.scope)


def _plain_functions(tree: ast.Module, module: Scope) -> Iterator[str]:
    """Yield the names that are always bound to an (instrumented) function of the module."""
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and not (
            statement.decorator_list or len(module.stores[statement.name]) > 1
        ):
            yield statement.name
