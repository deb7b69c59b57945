# ruff: noqa: D102, N802, N815 - the visitors are named after the nodes, as ast.NodeVisitor wants it
"""Rewriter of statements other than assignments."""

import ast
from collections.abc import Iterable
from typing import cast

from . import build
from .assignments import Assignments
from .construction import construction_of
from .context import Context
from .names import PREFIX, Function, mangle

_MADE = f"{PREFIX}made"


class Statements(Assignments):
    """Visitors of statements with blocks, and of definitions."""

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Rewrite the statements of a block; one statement may become several."""
        result: list[ast.stmt] = []
        for statement in statements:
            if not self.context.quiet:
                self.context.start_statement()
            changed = self.visit(statement)
            result.extend(changed if isinstance(changed, list) else [changed])
        return result

    def _pause(self, source: ast.AST) -> list[ast.stmt]:
        if not self.pauses or self.context.quiet:
            return []
        return [build.place(ast.Expr(build.call("pause")), source)]

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
        return self.cleared(ast.copy_location(ast.Expr(self.expression(node.value)), node))

    def visit_If(self, node: ast.If) -> ast.stmt:
        node.test = self.truth(node.test)
        return self._blocks(node, node.test)

    def visit_While(self, node: ast.While) -> ast.stmt:
        node.test = self.truth(node.test)
        return self._blocks(node, node.test, end=self._pause(node.body[0]))

    def visit_Continue(self, node: ast.Continue) -> list[ast.stmt]:
        return [*self._pause(node), node]

    def _blocks(
        self,
        node: ast.If | ast.While | ast.For | ast.AsyncFor,
        source: ast.AST,
        start: Iterable[ast.stmt] = (),
        end: Iterable[ast.stmt] = (),
    ) -> ast.stmt:
        """Rewrite both blocks; each one begins by clearing the temporaries of the statement's head."""
        body, orelse = [*start, *self.clear(source)], self.clear(source)
        node.body, node.orelse = [*body, *self.block(node.body), *end], [*orelse, *self.block(node.orelse)]
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt | list[ast.stmt]:
        node.test = self.truth(node.test)
        node.msg = node.msg and self.expression(node.msg)
        return self.cleared(node)

    def _loop(self, node: ast.For | ast.AsyncFor) -> ast.stmt:
        tuples = _yields_tuples(node.iter)
        node.iter = self.expression(node.iter) if isinstance(node, ast.AsyncFor) else self.iterated(node.iter)
        node.target, stores = self.split_target(node.target, known_tuple=tuples)
        return self._blocks(node, node.target, stores, self._pause(node.target))

    visit_For = visit_AsyncFor = _loop

    def visit_With(self, node: ast.With | ast.AsyncWith) -> list[ast.stmt]:
        # The statement calls `__exit__`, and threads may be switched after a call.
        return [self._with(node), *self._pause(node)]

    visit_AsyncWith = visit_With

    def _with(self, node: ast.With | ast.AsyncWith) -> ast.stmt:
        items: list[ast.withitem] = []
        for number, item in enumerate(node.items):
            item.context_expr = self.expression(item.context_expr)
            items.append(item)
            if item.optional_vars is None:
                continue
            item.optional_vars, stores = self.split_target(item.optional_vars, known_tuple=True)
            if not stores:
                continue
            # The target is stored before the next item is evaluated.
            rest: list[ast.stmt] = []
            if node.items[number + 1 :]:
                rest = [self._with(ast.copy_location(type(node)(node.items[number + 1 :], node.body), node))]
            else:
                rest = [*self.clear(node), *self.block(node.body)]
            return ast.copy_location(type(node)(items, [*stores, *rest]), node)
        node.items = items
        node.body = [*self.clear(node.items[-1].context_expr), *self.block(node.body)]
        return node

    def _try(self, node: ast.Try | ast.TryStar) -> ast.stmt:
        before, self.context.most = self.context.most, 0
        node.body = self.block(node.body)
        taken = [f"{PREFIX}{number}" for number in range(self.context.most)]
        self.context.most = max(before, self.context.most)
        for handler in node.handlers:
            handler.type = handler.type and self.expression(handler.type)
            stores = self.report_store(handler.name, handler) if handler.name else []
            body = self.block(handler.body)
            if stores:  # the name is unbound whenever the handler ends, even by an exception
                unbinds = self.report_store(cast(str, handler.name), handler)
                body = [build.place(ast.Try(body, [], [], unbinds), handler)]
            handler.body = [*self.clear(handler, taken), *stores, *body]
        node.orelse, node.finalbody = self.block(node.orelse), self.block(node.finalbody)
        return node

    visit_Try = visit_TryStar = _try

    def visit_Match(self, node: ast.Match) -> ast.stmt | list[ast.stmt]:
        depth = max(_depth(case.pattern) for case in node.cases)
        if depth and self.context.binds and not self.context.quiet:
            is_nested = ast.Constant(depth > 1)
            node.subject = self.context.guard(
                node.subject,
                [self.expression(node.subject)],
                lambda of: build.call("match", *of, is_nested),
                lambda of: of[0],
            )
        else:
            node.subject = self.consumed(node.subject)
        for case in node.cases:
            captures = [
                report
                for pattern in ast.walk(case.pattern)
                if (name := getattr(pattern, "name", None) or getattr(pattern, "rest", None))
                for report in self.report_store(name, pattern)
            ]
            case.guard = case.guard and self.truth(case.guard)
            case.body = [*self.clear(case.pattern), *captures, *self.block(case.body)]
        return [*self._unseen_reads(node), node]

    def _unseen_reads(self, node: ast.Match) -> list[ast.stmt]:
        """Return the statement that spoils the proof if patterns read attributes that may change: no hook sees it."""
        named = [part for case in node.cases for part in ast.walk(case.pattern) if isinstance(part, ast.Attribute)]
        changing = [
            part.attr for part in named if part.attr in self.facts.mutable_names or self.facts.is_class_level(part.attr)
        ]
        if not changing or self.context.quiet:
            return []
        doubt = build.call("reflect", ast.Constant(None), ast.Constant(f"{changing[0]} in a pattern"))
        return [build.place(ast.Expr(doubt), node)]

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> list[ast.stmt]:
        names = [alias.asname or alias.name.partition(".")[0] for alias in node.names]
        return [*(report for name in names for report in self.report_store(name, node)), node]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        # The hook of imports reports the read of a name just before the name is read: each name has its own import.
        names = [node.names] if self.context.quiet else [[alias] for alias in node.names]
        parts = [ast.copy_location(ast.ImportFrom(node.module, part, node.level), node) for part in names]
        return [statement for part in parts for statement in self.visit_Import(part)]

    def visit_ClassDef(self, node: ast.ClassDef) -> list[ast.stmt]:
        reports = self._named(node)
        node.bases = self.expressions(node.bases)
        for keyword in node.keywords:
            keyword.value = self.expression(keyword.value)
        methods = frozenset(
            statement.name
            for statement in node.body
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and not statement.decorator_list
        )
        quiet = self.context.quiet
        with self.inside(Context(self.scopes[node], quiet, None, methods)):
            elsewhere = not quiet and any(map(_stores_elsewhere, node.body))
            node.body = self.block(node.body)
            if elsewhere:  # classes have no temporaries, so these stores cannot be reported
                doubt = build.call("reflect", ast.Constant(None), ast.Constant("changes other objects in a class body"))
                node.body.insert(0, build.place(ast.Expr(doubt), node))
        return [*reports, *self.cleared(node)]

    def _named(self, node: Function | ast.ClassDef) -> list[ast.stmt]:
        """Rewrite the decorators, and return the report of the name's store.

        If there are decorators, the report becomes the outermost one, so that it runs after all others.
        """
        reports = self.report_store(node.name, node)
        node.decorator_list = self.expressions(node.decorator_list)
        report = None if self.context.quiet else self.report_name(node.name, 1)
        if not node.decorator_list or report is None:
            return reports
        made = ast.arguments([], [ast.arg(_MADE)], None, [], [], None, [])
        last = ast.Lambda(made, build.either(report, build.load(_MADE)))
        node.decorator_list.insert(0, build.place(last, node.decorator_list[0]))
        return []

    def _function(self, node: Function) -> list[ast.stmt]:
        reports = self._named(node)
        self._defaults(node.args)
        if self.evaluates_annotations:
            node.returns = node.returns and self.expression(node.returns)
            for argument in _parameters(node.args):
                argument.annotation = argument.annotation and self.expression(argument.annotation)
        with self.inside(self._callable_context(node)) as context:
            docstring = node.body[:1] if ast.get_docstring(node, clean=False) is not None else []
            start = [build.place(token, node) for token in self.cell_tokens(context.scope)]
            if is_generator(node):
                context.manages = any(_makes_context_manager(each) for each in node.decorator_list)
                start.append(build.place(ast.Expr(build.call("resumed")), node))
            body = self.block(node.body[len(docstring) :])
            node.body = [*docstring, *self._pause(node), *start, *body]
        return [*reports, *self.cleared(node)]

    visit_FunctionDef = visit_AsyncFunctionDef = _function

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self._defaults(node.args)
        with self.inside(self._callable_context(node)) as context:
            body = self.expression(node.body)
            tokens = [
                build.bind(cast(ast.Name, token.targets[0]).id, token.value)
                for token in self.cell_tokens(context.scope)
                if isinstance(token, ast.Assign)
            ]
            pauses = [build.call("pause")] if self.pauses and not self.context.quiet else []
            node.body = build.place(build.either(*pauses, *tokens, body), node.body)
        return node

    def _defaults(self, arguments: ast.arguments) -> None:
        arguments.defaults = self.expressions(arguments.defaults)
        arguments.kw_defaults = [value and self.expression(value) for value in arguments.kw_defaults]

    def _callable_context(self, node: Function | ast.Lambda) -> Context:
        outer = self.context
        if outer.scope.kind != "class":
            return Context(self.scopes[node], False, outer.receiver, outer.methods)
        decorators = {getattr(item, "id", "") for item in getattr(node, "decorator_list", [])}
        parameters = node.args.posonlyargs + node.args.args
        static = not parameters or decorators & {"staticmethod", "classmethod"}
        owner = outer.scope.node
        of_classes = isinstance(owner, ast.ClassDef) and owner.name in self.facts.metaclasses
        receiver = None if static or of_classes else parameters[0].arg
        return Context(self.scopes[node], False, receiver, outer.methods, self._private_stores(outer.scope.node, node))

    def _private_stores(self, owner: ast.AST, node: Function | ast.Lambda) -> frozenset[ast.expr]:
        if not isinstance(owner, ast.ClassDef) or isinstance(node, ast.Lambda):
            return frozenset()
        construction = None if self.facts.reconstructs else construction_of(owner, node)
        if construction is None:
            return frozenset()
        after_super = frozenset() if self.facts.escapes else construction.after_super
        stores = construction.private | after_super
        return frozenset(store for store in stores if mangle(store.attr, owner.name) not in self.facts.shown)


def _depth(pattern: ast.AST) -> int:
    """Return how many patterns that look into an object lie one within the other."""
    looks_in = isinstance(pattern, ast.MatchClass | ast.MatchMapping | ast.MatchSequence)
    return looks_in + max(map(_depth, ast.iter_child_nodes(pattern)), default=0)


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    rest = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *rest]


def _makes_context_manager(decorator: ast.expr) -> bool:
    name = decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")
    return name in {"contextmanager", "asynccontextmanager"}


def _stores_elsewhere(node: ast.AST) -> bool:
    """Whether a statement of a class body may store to anything other than an attribute of the class."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return False
    if isinstance(node, ast.Nonlocal | ast.Global):
        return True
    if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return True
    return any(map(_stores_elsewhere, ast.iter_child_nodes(node)))


def is_generator(node: Function) -> bool:
    """Whether a function is a generator."""
    todo: list[ast.AST] = list(node.body)
    while todo:
        part = todo.pop()
        if isinstance(part, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            todo += ast.iter_child_nodes(part)
    return False


def _yields_tuples(node: ast.expr) -> bool:
    """Whether a loop iterates over new tuples, which need no report when they are unpacked."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute):
        return node.func.attr == "items"
    return isinstance(node.func, ast.Name) and node.func.id in {"enumerate", "zip"}
