# ruff: noqa: D102, N802 - the visitors are named after the nodes, as ast.NodeVisitor wants it
"""Rewriter of assignments: each target is stored by a separate statement."""

import ast
from collections.abc import Callable, Sequence
from typing import cast

from ..knowledge.tables import REFLECTIVE
from . import build
from .calling import Calls
from .context import Atoms
from .expressions import Key
from .names import Hook


class Assignments(Calls):
    """Visitors of statements that bind or delete names, attributes or items."""

    def cleared(self, *statements: ast.stmt) -> list[ast.stmt]:
        """Return the statements, followed by one that clears the temporaries, so that they keep no object alive."""
        return [*statements, *self.clear(statements[-1])]

    def clear(self, source: ast.AST, names: Sequence[str] | None = None) -> list[ast.stmt]:
        """Return the statement that sets temporaries to None: by default the temporaries of this statement."""
        names = self.context.taken() if names is None else names
        if not names or self.context.quiet or not self.context.binds:
            return []
        return [build.place(ast.Assign([build.store(name) for name in names], ast.Constant(None)), source)]

    def report_store(self, name: str, source: ast.AST) -> list[ast.stmt]:
        """Return the statement that reports the store of a variable, nothing if it needs none."""
        return _evaluated(None if self.context.quiet else self.report_name(name, 1), source)

    def _attribute_report(self, target: ast.Attribute, base: ast.expr, write: int) -> list[ast.stmt]:
        hook = self.attribute_report(target.attr, write)
        return _evaluated(None if hook is None else hook([base]), target)

    def _settled(self, node: ast.expr, before: list[ast.stmt], source: ast.AST) -> ast.expr:
        """Return a name or constant for the value of a rewritten expression; may add an assignment to `before`."""
        if isinstance(node, ast.Constant | ast.Name):
            return node
        name = self.context.temporary()
        before.append(build.place(ast.Assign([build.store(name)], node), source))
        return build.load(name)

    def _is_simple(self, target: ast.expr) -> bool:
        """Whether storing to a target needs no report."""
        if isinstance(target, ast.Name):
            return self.report_name(target.id, 1) is None
        if isinstance(target, ast.Attribute):
            return self._store_report(target) is None
        if isinstance(target, ast.Starred):
            return self._is_simple(target.value)
        return isinstance(target, ast.Tuple | ast.List) and all(self._is_simple(part) for part in target.elts)

    def _store_report(self, target: ast.Attribute) -> Callable[[Atoms], ast.expr] | None:
        if target in self.context.private and target.attr not in {"__dict__", "__class__"}:
            return None
        report = self.attribute_report(target.attr, 1)
        name = self.mangled(target.attr)
        if report is None or name in REFLECTIVE or self.facts.is_class_level(name) or self._is_receiver(target.value):
            return report
        return lambda of: build.call("setattribute", of[0], ast.Constant(name))

    def _is_receiver(self, node: ast.expr) -> bool:
        """Whether an expression is certainly no class and no module."""
        return isinstance(node, ast.Name) and node.id == self.context.receiver

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        return self._assign(node.targets, node.value, node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt | list[ast.stmt]:
        if self.evaluates_annotations and self.context.scope.kind == "class":
            node.annotation = self.expression(node.annotation)
        if node.value is None:
            return node
        if isinstance(node.target, ast.Name) and (not self._reported(node.target) or not self.context.binds):
            node.value = self.expression(node.value)
            return self.cleared(node)
        if not self.context.binds:
            node.value = self.expression(node.value)
            return node
        bare: list[ast.stmt] = []
        if isinstance(node.target, ast.Name):
            # The annotation stays, because it makes the name local.
            bare.append(ast.copy_location(ast.AnnAssign(node.target, node.annotation, None, node.simple), node))
        return [*bare, *self._assign([node.target], node.value, node)]

    def _reported(self, target: ast.Name) -> bool:
        return not self.context.quiet and self.report_name(target.id, 1) is not None

    def _assign(self, targets: list[ast.expr], value: ast.expr, node: ast.stmt) -> list[ast.stmt]:
        if self.context.quiet or not self.context.binds:
            return [ast.copy_location(ast.Assign(targets, self.expression(value)), node)]
        unpacked = any(isinstance(target, ast.Tuple | ast.List) for target in targets)
        rewritten = self.consumed(value) if unpacked else self.expression(value)
        if all(self._is_simple(target) for target in targets):
            rebuilt = [self._simple(target) for target in targets]
            return self.cleared(ast.copy_location(ast.Assign(rebuilt, rewritten), node))
        statements: list[ast.stmt] = []
        whole = len(targets) == 1 and unpacked
        atom = rewritten if whole else self._settled(rewritten, statements, node)
        for target in targets:
            statements += self._store(target, atom, node, read=not whole and not self.is_unshared(value))
        return self.cleared(*statements)

    def _simple(self, target: ast.expr) -> ast.expr:
        """Rewrite a target that needs no report itself; the object of an attribute is still an expression."""
        if isinstance(target, ast.Attribute):
            return ast.copy_location(ast.Attribute(self.expression(target.value), target.attr, target.ctx), target)
        if isinstance(target, ast.Starred):
            return ast.copy_location(ast.Starred(self._simple(target.value), target.ctx), target)
        if isinstance(target, ast.Tuple | ast.List):
            parts = [self._simple(part) for part in target.elts]
            return ast.copy_location(type(target)(parts, target.ctx), target)
        return target

    def _store(self, target: ast.expr, atom: ast.expr, node: ast.AST, *, read: bool) -> list[ast.stmt]:
        """Return the statements that store a value (a name or constant) to one target, with its reports."""
        if isinstance(target, ast.Tuple | ast.List):
            return self._unpack(target, self.read(atom, target) if read else atom, node)
        if isinstance(target, ast.Name):
            return [*self.report_store(target.id, target), self._assigned(target, atom, node)]
        statements: list[ast.stmt] = []
        if isinstance(target, ast.Attribute):
            base = self._settled(self.expression(target.value), statements, target)
            hook = self._store_report(target)
            if target.attr == "__dict__":
                statements += _evaluated(build.call("rebind", base, atom), target)
            elif hook is not None:
                statements += _evaluated(hook([base]), target)
            rebuilt: ast.expr = ast.Attribute(base, target.attr, ast.Store())
        else:
            subscript = cast(ast.Subscript, target)
            base, key, index = self._place(subscript, statements)
            if key.whole and read:
                statements += _evaluated(self.read(atom, target), target)
            statements += self._item_report("setitem", base, key, index, subscript)
            rebuilt = ast.Subscript(base, key.rebuild(index), ast.Store())
        return [*statements, self._assigned(ast.copy_location(rebuilt, target), atom, node)]

    def _unpack(self, target: ast.Tuple | ast.List, value: ast.expr, node: ast.AST) -> list[ast.stmt]:
        """Return statements that unpack into temporaries and then store each one, in the order that Python uses."""
        parts: list[ast.expr] = []
        stores: list[tuple[ast.expr, ast.expr]] = []
        for part in target.elts:
            name = self.context.temporary()
            inner = part.value if isinstance(part, ast.Starred) else part
            parts.append(ast.Starred(build.store(name), ast.Store()) if inner is not part else build.store(name))
            stores.append((inner, build.load(name)))
        statements = [self._assigned(ast.Tuple(parts, ast.Store()), value, node)]
        for inner, atom in stores:
            statements += self._store(inner, atom, node, read=True)
        return statements

    def _assigned(self, target: ast.expr, value: ast.expr, node: ast.AST) -> ast.stmt:
        return build.place(ast.copy_location(ast.Assign([target], value), node), node)

    def _place(self, target: ast.Subscript, before: list[ast.stmt]) -> tuple[ast.expr, Key, list[ast.expr]]:
        """Evaluate the object and the key of a subscript once: return both, and the atoms of the key's operands."""
        base = self._settled(self.expression(target.value), before, target)
        key = self.key(target.slice)
        return base, key, [self._settled(operand, before, target) for operand in key.operands]

    def _item_report(
        self, hook: Hook, base: ast.expr, key: Key, index: list[ast.expr], source: ast.Subscript
    ) -> list[ast.stmt]:
        if self.is_unshared(source.value):
            return []
        return _evaluated(build.loud([base], build.call(hook, base, key.slot(index))), source)

    def split_target(self, target: ast.expr, *, known_tuple: bool) -> tuple[ast.expr, list[ast.stmt]]:
        """Return the target of a loop or with-statement, and the statements that its body must begin with."""
        if self.context.quiet or not self.context.binds:
            return target, []
        if isinstance(target, ast.Name) and self._is_simple(target):
            return target, []
        if known_tuple and self._is_flat(target) and self._is_simple(target):
            return target, []
        name = self.context.temporary()
        stores = self._store(target, build.load(name), target, read=not known_tuple)
        return ast.copy_location(build.store(name), target), stores

    def _is_flat(self, target: ast.expr) -> bool:
        return isinstance(target, ast.Tuple) and all(isinstance(part, ast.Name) for part in target.elts)

    def visit_Delete(self, node: ast.Delete) -> ast.stmt | list[ast.stmt]:
        if self.context.quiet or not self.context.binds:
            return node
        statements: list[ast.stmt] = []
        for target in node.targets:
            self._delete(target, statements, node)
        return self.cleared(*statements) if statements else node

    def _delete(self, target: ast.expr, statements: list[ast.stmt], node: ast.Delete) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._delete(part, statements, node)
            return
        if isinstance(target, ast.Name):
            statements += self.report_store(target.id, target)
        elif isinstance(target, ast.Attribute):
            base = self._settled(self.expression(target.value), statements, target)
            statements += self._attribute_report(target, base, 1)
            target = ast.copy_location(ast.Attribute(base, target.attr, ast.Del()), target)
        elif isinstance(target, ast.Subscript):
            base, key, index = self._place(target, statements)
            statements += self._item_report("delitem", base, key, index, target)
            target = ast.copy_location(ast.Subscript(base, key.rebuild(index), ast.Del()), target)
        statements.append(build.place(ast.copy_location(ast.Delete([target]), node), node))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt | list[ast.stmt]:
        if self.context.quiet or not self.context.binds:
            node.value = self.expression(node.value)
            return node
        target, statements = node.target, list[ast.stmt]()
        old: ast.expr
        new: ast.expr
        if isinstance(target, ast.Name):
            if self._is_simple(target):
                return self._augment_local(node, target)
            reports = [_evaluated(self.report_name(target.id, write), target) for write in (0, 1)]
            old, new = build.load(target.id), target
        elif isinstance(target, ast.Attribute):
            base = self._settled(self.expression(target.value), statements, target)
            reports = [self._attribute_report(target, base, write) for write in (0, 1)]
            old = ast.Attribute(base, target.attr, ast.Load())
            new = ast.Attribute(base, target.attr, ast.Store())
        else:
            base, key, index = self._place(target, statements)
            reports = [self._item_report(hook, base, key, index, target) for hook in ("getitem", "setitem")]
            old = ast.Subscript(base, key.rebuild(index), ast.Load())
            new = ast.Subscript(base, key.rebuild(index), ast.Store())
        return self._augment(node, [*statements, *reports[0]], old, reports[1], new)

    def _augment_local(self, node: ast.AugAssign, target: ast.Name) -> list[ast.stmt]:
        value = self.expression(node.value)
        local = build.load(target.id)
        if self._keeps_identity(node) or (self.is_unshared(local) and self.is_unshared(node.value)):
            return self.cleared(ast.copy_location(ast.AugAssign(target, node.op, value), node))
        statements: list[ast.stmt] = []
        atom = self._settled(value, statements, node)
        statements.append(self._inplace_report(node, local, atom))
        return self.cleared(*statements, ast.copy_location(ast.AugAssign(target, node.op, atom), node))

    def _augment(
        self, node: ast.AugAssign, before: list[ast.stmt], old: ast.expr, after: list[ast.stmt], new: ast.expr
    ) -> list[ast.stmt]:
        """Return the statements that read the old value, combine it in place with the operand, and store the result."""
        name = self.context.temporary()
        result = build.load(name)
        statements = [*before, self._assigned(build.store(name), ast.copy_location(old, node.target), node)]
        atom = self._settled(self.expression(node.value), statements, node)
        if not self._keeps_identity(node):
            statements.append(self._inplace_report(node, result, atom))
        combined = ast.copy_location(ast.AugAssign(build.store(name), node.op, atom), node)
        stored = self._assigned(ast.copy_location(new, node.target), result, node)
        return self.cleared(*statements, build.place(combined, node), *after, stored)

    def _inplace_report(self, node: ast.AugAssign, target: ast.expr, value: ast.expr) -> ast.stmt:
        if self.is_unshared(node.value):
            called = build.loud([target], build.call("inplace", target, ast.Constant(None)))
        else:
            called = build.loud([target, value], build.call("inplace", target, value))
        return build.place(ast.Expr(called), node)

    def _keeps_identity(self, node: ast.AugAssign) -> bool:
        """Whether the operation is certainly arithmetic: its operand is a number, and no container is repeated."""
        number = isinstance(node.value, ast.Constant) and isinstance(node.value.value, int | float | complex)
        return number and not isinstance(node.op, ast.Mult)


def _evaluated(report: ast.expr | None, source: ast.AST) -> list[ast.stmt]:
    """Return the statement that evaluates a report; no statement if there is no report."""
    return [] if report is None else [build.place(ast.Expr(report), source)]
