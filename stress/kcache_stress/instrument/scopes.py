# ruff: noqa: N815 - the visitors are named after the nodes, as ast.NodeVisitor wants it
"""Scopes of the names of a module, and the closure variables that change after they were captured."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from ..knowledge.functions import GENERATOR_BUILTINS
from ..knowledge.tables import CONSUMING_METHODS
from .names import Comprehension, Function, mangle

Kind = Literal["module", "class", "function", "comprehension"]
Moment = int
"""Time at which code runs, as far as the source shows: a counter in the order of evaluation."""
Loops = tuple[ast.AST, ...]


@dataclass(eq=False)
class Scope:
    """One namespace: a module, class, function (or lambda), or comprehension.

    `opened` is when the function or generator is created; `is_kept` means that it may run later, in any thread.
    `published` contains names whose value is stored elsewhere by the same statement: `self.rows = rows = []`.
    `held` maps a name to the variables whose items the same statement stores the value in: `row = rows[key] = []`.
    """

    kind: Kind
    node: ast.AST
    parent: "Scope | None"
    class_name: str | None
    loops: Loops = ()
    opened: Moment = 0
    is_kept: bool = False
    stores: dict[str, list[tuple[Moment, Loops]]] = field(default_factory=dict)
    loads: set[str] = field(default_factory=set)
    parameters: set[str] = field(default_factory=set)
    global_names: set[str] = field(default_factory=set)
    nonlocal_names: set[str] = field(default_factory=set)
    values: dict[str, list[ast.expr | None]] = field(default_factory=dict)
    cells: set[str] = field(default_factory=set)
    published: set[str] = field(default_factory=set)
    held: dict[str, set[str]] = field(default_factory=dict)

    def owner(self, name: str) -> "Scope | None":
        """Return the scope that binds the (mangled) name; None if it is a global or a builtin."""
        scope: Scope | None = self
        while scope is not None and scope.kind != "module":
            if name in scope.global_names:
                return None
            if (name in scope.stores and name not in scope.nonlocal_names) and (scope is self or scope.kind != "class"):
                return scope
            scope = scope.parent
        return None

    def is_fixed_parameter(self, name: str) -> bool:
        """Whether the name is a parameter that is never bound again, and hence never unbound."""
        return name in self.parameters and len(self.stores[name]) == 1 and name not in self.cells


def find_scopes(tree: ast.Module) -> dict[ast.AST, Scope]:
    """Return the scope that each module, class, function, lambda and comprehension opens."""
    builder = _Builder(Scope("module", tree, None, None))
    for statement in tree.body:
        builder.visit(statement)
    scopes = builder.scopes
    for scope in scopes.values():
        _mark_cells(scope)
    return scopes


def _mark_cells(scope: Scope) -> None:
    """Add the variables of enclosing functions that `scope` uses, and that change after the capture, to `cells`."""
    for name in scope.loads | set(scope.stores):
        owner = scope.owner(name)
        if owner is None or owner is scope or owner.kind == "class":
            continue
        captures = [inner for inner in _up_to(scope, owner) if inner.is_kept]
        if not captures:
            continue  # a comprehension runs at once, in the thread of its function
        capture = captures[-1]
        if name in scope.stores or any(
            moment > capture.opened or any(loop in capture.loops for loop in loops)
            for moment, loops in owner.stores[name]
        ):
            owner.cells.add(name)


def _up_to(scope: Scope, owner: Scope) -> Iterator[Scope]:
    inner: Scope | None = scope
    while inner is not None and inner is not owner:
        yield inner
        inner = inner.parent


class _Builder(ast.NodeVisitor):
    def __init__(self, module: Scope) -> None:
        self.scopes: dict[ast.AST, Scope] = {module.node: module}
        self._scope = module
        self._loops: Loops = ()
        self._now: Moment = 0
        self._at_once: set[ast.AST] = set()

    def _open(self, kind: Kind, node: ast.AST, class_name: str | None, *, is_kept: bool = False) -> Scope:
        self._now += 1
        scope = Scope(kind, node, self._scope, class_name, self._loops, self._now, is_kept)
        self.scopes[node] = scope
        return scope

    def _bind(self, name: str, node: ast.AST, value: ast.expr | None = None) -> None:
        scope = self._scope
        while isinstance(node, ast.NamedExpr) and scope.kind == "comprehension" and scope.parent is not None:
            scope = scope.parent
        name = mangle(name, scope.class_name)
        self._now += 1
        scope.stores.setdefault(name, []).append((self._now, self._loops))
        scope.values.setdefault(name, []).append(value)
        if isinstance(node, ast.NamedExpr):
            scope.published.add(name)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._scope.loads.add(mangle(node.id, self._scope.class_name))
        else:
            self._bind(node.id, node)

    def visit_Call(self, node: ast.Call) -> None:
        of = node.func
        consumes = (isinstance(of, ast.Name) and of.id in GENERATOR_BUILTINS) or (
            isinstance(of, ast.Attribute) and of.attr in CONSUMING_METHODS
        )
        if consumes and len(node.args) == 1:
            self._at_once.add(node.args[0])
        self.generic_visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self._bind(node.target.id, node, node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self._target(target, node.value)
            if len(node.targets) > 1 and isinstance(target, ast.Name):
                self._publish(target, [other for other in node.targets if other is not target])

    def _publish(self, name: ast.Name, others: list[ast.expr]) -> None:
        scope = self._scope
        bound = mangle(name.id, scope.class_name)
        for other in others:
            if isinstance(other, ast.Subscript) and isinstance(other.value, ast.Name):
                scope.held.setdefault(bound, set()).add(mangle(other.value.id, scope.class_name))
            else:
                scope.published.add(bound)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self._target(node.target, node.value)
        elif isinstance(node.target, ast.Name):
            # A bare annotation makes the name local without a store.
            name = mangle(node.target.id, self._scope.class_name)
            self._scope.stores.setdefault(name, [])
        else:
            self.visit(node.target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        if isinstance(node.target, ast.Name):
            result = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
            self._target(node.target, result)
        else:
            self.visit(node.target)

    def _target(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._bind(target.id, target, value)
        else:
            self.visit(target)

    def visit_Global(self, node: ast.Global) -> None:
        self._scope.global_names.update(mangle(name, self._scope.class_name) for name in node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self._scope.nonlocal_names.update(mangle(name, self._scope.class_name) for name in node.names)

    def visit_alias(self, node: ast.alias) -> None:
        if node.name != "*":
            self._bind(node.asname or node.name.partition(".")[0], node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self._bind(node.name, node)
        self.generic_visit(node)
        if node.name:
            self._bind(node.name, node)  # it is unbound at the end

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name:
            self._bind(node.name, node)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name:
            self._bind(node.name, node)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self._bind(node.rest, node)
        self.generic_visit(node)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        outer, self._loops = self._loops, (*self._loops, node)
        self.generic_visit(node)
        self._loops = outer

    visit_For = visit_AsyncFor = visit_While = _loop

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if not node.decorator_list:
            self._bind(node.name, node)
        for child in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(child)
        outer, self._scope = self._scope, self._open("class", node, node.name)
        for statement in node.body:
            self.visit(statement)
        self._scope = outer
        if node.decorator_list:
            self._bind(node.name, node)  # see `_function`

    def _function(self, node: Function) -> None:
        if not node.decorator_list:
            self._bind(node.name, node)
        for decorator in node.decorator_list:
            self.visit(decorator)
        self._callable(node, node.body)
        if node.decorator_list:
            self._bind(node.name, node)  # the decorators may have passed the function to other code before

    visit_FunctionDef = visit_AsyncFunctionDef = _function

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._callable(node, [node.body])

    def _callable(self, node: Function | ast.Lambda, body: list[ast.stmt] | list[ast.expr]) -> None:
        arguments = node.args
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                self.visit(default)
        outer_scope, outer_loops = self._scope, self._loops
        self._scope, self._loops = self._open("function", node, outer_scope.class_name, is_kept=True), ()
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            self._parameter(argument)
        for rest in (arguments.vararg, arguments.kwarg):
            if rest is not None:
                self._parameter(rest)
        for part in body:
            self.visit(part)
        self._scope, self._loops = outer_scope, outer_loops

    def _parameter(self, node: ast.arg) -> None:
        self._bind(node.arg, node)
        self._scope.parameters.add(mangle(node.arg, self._scope.class_name))

    def _comprehension(self, node: Comprehension) -> None:
        self.visit(node.generators[0].iter)
        is_kept = isinstance(node, ast.GeneratorExp) and node not in self._at_once
        scope = self._open("comprehension", node, self._scope.class_name, is_kept=is_kept)
        outer, self._scope = self._scope, scope
        outer_loops, self._loops = self._loops, (*self._loops, node)
        for number, clause in enumerate(node.generators):
            if number:
                self.visit(clause.iter)
            self.visit(clause.target)
            for condition in clause.ifs:
                self.visit(condition)
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.visit(part)
        self._scope, self._loops = outer, outer_loops

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension
