# ruff: noqa: D102, N802, N815 - the visitors are named after the nodes, as ast.NodeVisitor wants it
"""Rewriter of expressions: reads, operators, comprehensions."""

import ast
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast

from ..knowledge.functions import ITERATOR_BUILTINS
from ..knowledge.tables import LISTS_VARIABLES, REFLECTIVE, REFLECTIVE_READS
from . import build
from .base import Rewriting
from .context import Atoms, Context
from .names import Comprehension, Hook

_ELEMENT: Final = "_kc_element"


_ENTERS: Final = sys.version_info < (3, 12)
"""True if comprehensions are functions in this version of Python."""


@dataclass(frozen=True)
class Key:
    """The key of a subscript: its parts, rewritten, and a function that combines them again.

    Attributes:
        operands: the key, or the bounds of a slice that are present.
        rebuild: builds the key from atoms that replace the operands.
        whole: whether the key is a slice, so that the access counts as an access to the whole container.
    """

    operands: list[ast.expr]
    rebuild: Callable[[Atoms], ast.expr]
    whole: bool

    def slot(self, atoms: Atoms) -> ast.expr:
        """Return the slot to report: the key, or None for a slice."""
        return ast.Constant(None) if self.whole else atoms[0]


class Expressions(Rewriting):
    """Visitors of expressions except calls."""

    def truth(self, node: ast.expr) -> ast.expr:
        """Rewrite an expression of which only the truth value is used."""
        if isinstance(node, ast.BoolOp):
            return ast.copy_location(ast.BoolOp(node.op, [self.truth(value) for value in node.values]), node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ast.copy_location(ast.UnaryOp(node.op, self.truth(node.operand)), node)
        return self.consumed(node)

    def consumed(self, node: ast.expr) -> ast.expr:
        """Rewrite an expression whose value is read as a whole."""
        value = self.expression(node)
        return value if self.context.quiet or self.is_unshared(node) else self.read(value, node)

    def read(self, value: ast.expr, source: ast.AST) -> ast.expr:
        """Return an expression that reports a read of the value's content, and yields the value."""
        return self.context.guard(source, [value], lambda of: build.call("read", *of), lambda of: of[0], [0])

    def shown(self, value: ast.expr, source: ast.expr) -> ast.expr:
        """Return an expression that reports a read of the value and of its elements, and yields the value."""
        hook: Hook = "within" if self.is_unshared(source) else "deep"
        return self.context.guard(
            source, [value], lambda of: build.call(hook, *of), lambda of: of[0], [0], quiet="atoms"
        )

    def iterated(self, node: ast.expr, *, later: bool = False) -> ast.expr:
        """Rewrite the iterable of a loop; `later`: the first step may come later than the start."""
        value = self.expression(node)
        if self.context.quiet or self.is_unshared(node):
            return value
        fresh = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ITERATOR_BUILTINS
        fresh = fresh and self.inference.is_builtin(node.func.id, self.context.scope)  # type: ignore[attr-defined]
        hook = build.call("lazy" if later else "iterate", value, *([ast.Constant(1)] if fresh else []))
        return build.place(hook, node)

    def attribute_report(self, attribute: str, write: int = 0) -> Callable[[Atoms], ast.expr] | None:
        """Return a function that builds the report of an attribute from its object; None if it needs no report."""
        name = self.mangled(attribute)
        if write and name in REFLECTIVE:
            return lambda of: build.call("reflect", of[0], ast.Constant(name))
        if self.facts.is_class_level(name):
            hook: Hook = "setattribute" if write else "attribute"
            return lambda of: build.call(hook, of[0], ast.Constant(name))
        if name == "__dict__" and not write:
            return lambda of: build.call("namespace", of[0])
        if name in REFLECTIVE_READS:
            return lambda of: build.call("reflect", of[0], ast.Constant(name))
        if self.facts.is_mutable(name):
            return lambda of: self.report(of[0], name, write)
        return None

    def key(self, node: ast.expr) -> Key:
        """Rewrite the key of a subscript."""
        if not isinstance(node, ast.Slice):
            if isinstance(node, ast.Tuple) and any(isinstance(part, ast.Slice) for part in node.elts):
                parts = [self._slice_call(part) if isinstance(part, ast.Slice) else part for part in node.elts]
                node = ast.copy_location(ast.Tuple(parts, node.ctx), node)
            return Key([self.expression(node)], lambda of: of[0], False)
        bounds = (node.lower, node.upper, node.step)
        present = [bound for bound in bounds if bound is not None]

        def rebuild(of: Atoms) -> ast.expr:
            atoms = iter(of)
            return ast.copy_location(ast.Slice(*[None if bound is None else next(atoms) for bound in bounds]), node)

        return Key(self.expressions(present), rebuild, True)

    def _slice_call(self, node: ast.Slice) -> ast.expr:
        bounds = [bound or ast.Constant(None) for bound in (node.lower, node.upper, node.step)]
        return build.place(build.call("slice", *bounds), node)

    def visit_Yield(self, node: ast.Yield) -> ast.expr:
        node.value = node.value and self.expression(node.value)
        if self.context.manages and self.pauses:  # `__enter__` calls `next`, after which threads may be switched
            node.value = build.place(build.call("after", node.value or ast.Constant(None)), node)
        return build.place(build.call("resumed", node), node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if self.context.quiet or not isinstance(node.ctx, ast.Load):
            return node
        report = self.report_name(node.id, 0)
        return node if report is None else build.place(build.either(report, node), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if self.context.quiet or not isinstance(node.ctx, ast.Load):
            return cast(ast.expr, self.generic_visit(node))
        if is_super(node.value):
            receiver, name = self.context.receiver, self.mangled(node.attr)
            if receiver is None:
                return node
            if self.facts.is_class_level(name):  # it is an attribute of a base class
                report: ast.expr = build.call("attribute", build.load(receiver), ast.Constant(name))
            elif self.facts.is_mutable(name):
                report = self.report(build.load(receiver), name, 0)
            else:
                return node
            return build.place(build.either(report, node), node)
        base = self.expression(node.value)
        hook = self.attribute_report(node.attr)
        if hook is None:
            read: ast.expr = ast.copy_location(ast.Attribute(base, node.attr, node.ctx), node)
        else:
            read = self.context.guard(node, [base], hook, lambda of: attribute(of[0], node))
        return build.place(build.call("locals", read), node) if node.attr in LISTS_VARIABLES else read

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if self.context.quiet or not isinstance(node.ctx, ast.Load):
            return cast(ast.expr, self.generic_visit(node))
        base = self.expression(node.value)
        key = self.key(node.slice)
        if self.is_unshared(node.value):
            index = key.rebuild(key.operands)
            return ast.copy_location(ast.Subscript(base, index, node.ctx), node)
        return self.context.guard(
            node,
            [base, *key.operands],
            lambda of: build.call("getitem", of[0], key.slot(of[1:])),
            lambda of: ast.copy_location(ast.Subscript(of[0], key.rebuild(of[1:]), ast.Load()), node),
            [0],
        )

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        if self.context.quiet:
            return cast(ast.expr, self.generic_visit(node))
        values = [*(self.truth(value) for value in node.values[:-1]), self.expression(node.values[-1])]
        return ast.copy_location(ast.BoolOp(node.op, values), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if self.context.quiet:
            return cast(ast.expr, self.generic_visit(node))
        operand = self.truth(node.operand) if isinstance(node.op, ast.Not) else self.expression(node.operand)
        return ast.copy_location(ast.UnaryOp(node.op, operand), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        test = self.truth(node.test)
        parts = ast.IfExp(test, self.expression(node.body), self.expression(node.orelse))
        return ast.copy_location(parts, node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        joined = as_compiled(node)
        if joined is not None:
            return self.visit_JoinedStr(joined)
        left, right = self.expression(node.left), self.expression(node.right)
        shows = isinstance(node.op, ast.Mod)  # it may format a text, which reads the elements
        watched = [] if self.context.quiet else self._watched(node)
        if not watched:
            return ast.copy_location(ast.BinOp(left, node.op, right), node)
        one: Hook = "deep" if shows else "read"
        both: Hook = "compare" if shows else "pair"
        return self.context.guard(
            node,
            [left, right],
            lambda of: build.call(both, *of) if len(watched) > 1 else build.call(one, of[watched[0]]),
            lambda of: ast.copy_location(ast.BinOp(of[0], node.op, of[1]), node),
            watched,
            quiet="atoms" if shows else "quiet",
        )

    def _watched(self, node: ast.BinOp) -> list[int]:
        """Return the operands that may be containers: none if one is a scalar, unless it multiplies or formats."""
        if isinstance(node.op, ast.Mod):
            return [number for number, side in enumerate((node.left, node.right)) if not self.is_flat(side)]
        watched = [number for number, side in enumerate((node.left, node.right)) if not self.is_unshared(side)]
        if self.is_scalar(node.left) or self.is_scalar(node.right):
            return watched if isinstance(node.op, ast.Mult) else []
        return watched

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if self.context.quiet:
            return cast(ast.expr, self.generic_visit(node))
        values = [node.left, *node.comparators]
        if len(node.ops) == 1:
            return self._compare(node, node.ops[0], self.expression(values[0]), self.expression(values[1]), values)
        if not self.context.binds:
            # A chain in a comprehension: the whole chain is one access; Python evaluates its operands.
            return ast.copy_location(
                ast.Compare(self.consumed(values[0]), node.ops, [self.consumed(value) for value in values[1:]]), node
            )
        parts: list[ast.expr] = []
        left = self.expression(values[0])
        for operator, before, value in zip(node.ops, values, values[1:], strict=False):
            right, following = self.expression(value), None
            if value is not values[-1]:
                following = self.context.temporary()
                right = ast.NamedExpr(build.store(following), right)
            parts.append(self._compare(node, operator, left, right, [before, value]))
            left = build.load(following) if following else right
        return build.place(ast.BoolOp(ast.And(), parts), node)

    def _compare(
        self, node: ast.Compare, operator: ast.cmpop, left: ast.expr, right: ast.expr, originals: list[ast.expr]
    ) -> ast.expr:
        def operation(of: Atoms) -> ast.expr:
            return ast.copy_location(ast.Compare(of[0], [operator], [of[1]]), node)

        constant = any(isinstance(value, ast.Constant) or self.is_scalar(value) for value in originals)
        hook: Hook = "compare"
        needed, watched = not (constant or isinstance(operator, ast.Is | ast.IsNot)), [0]
        if isinstance(operator, ast.In | ast.NotIn):
            needed = not (_are_scalars(originals[1], self.is_scalar) or (constant and self.is_unshared(originals[1])))
            if not self.is_unshared(originals[1]):
                hook, watched = "contains", [1]
        if not needed:
            return operation([left, right])
        return self.context.guard(
            node, [left, right], lambda of: build.call(hook, *of), operation, watched, quiet="atoms"
        )

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        value = self.expression(node.value)
        report = None if self.context.quiet else self.report_name(node.target.id, 1)
        if report is None:
            return ast.copy_location(ast.NamedExpr(node.target, value), node)
        if not self.context.binds:
            return build.place(build.either(report, ast.NamedExpr(node.target, value)), node)
        name = self.context.temporary()
        bound = build.either(build.bind(name, value), report, ast.NamedExpr(node.target, build.load(name)))
        return build.place(bound, node)

    def visit_Starred(self, node: ast.Starred) -> ast.expr:
        if not isinstance(node.ctx, ast.Load):
            return cast(ast.expr, self.generic_visit(node))
        return ast.copy_location(ast.Starred(self.consumed(node.value), node.ctx), node)

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        keys: list[ast.expr | None] = []
        values: list[ast.expr] = []
        for key, value in zip(node.keys, node.values, strict=True):
            keys.append(None if key is None else self.expression(key))
            values.append(self.consumed(value) if key is None else self.expression(value))
        return ast.copy_location(ast.Dict(keys, values), node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        specification = node.format_spec and self.expression(node.format_spec)
        value = self.expression(node.value)
        if not (self.context.quiet or self.is_flat(node.value)):
            value = self.shown(value, node.value)
        return ast.copy_location(ast.FormattedValue(value, node.conversion, specification), node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        return cast(ast.expr, self.generic_visit(node))

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.expr:
        value = self.expression(node.value)
        if not (self.context.quiet or self.is_unshared(node.value)):
            value = build.place(build.call("delegate", value), node.value)
        return ast.copy_location(ast.YieldFrom(value), node)

    def _comprehension(self, node: Comprehension) -> ast.expr:
        first = node.generators[0]
        quiet = self.context.quiet
        source = self.expression(first.iter) if first.is_async else self._source(node)
        hoisted: list[ast.expr] = []
        if any(isinstance(part, ast.NamedExpr) for part in ast.walk(source)) and self.context.binds:
            # Assignment expressions are forbidden in the source, which is evaluated first anyhow.
            name = self.context.temporary()
            hoisted.append(build.bind(name, source))
            source = build.load(name)
        if self.scopes[node].cells and not quiet:  # each step binds the variable again, where no report is possible
            hoisted.append(build.call("reflect", ast.Constant(None), ast.Constant(_KEPT_VARIABLE)))
        with self.inside(Context(self.scopes[node], quiet, self.context.receiver, self.context.methods)):
            for clause in node.generators:
                if clause is first:
                    clause.iter = source
                elif clause.is_async:
                    clause.iter = self.expression(clause.iter)
                else:
                    clause.iter = self.iterated(clause.iter)
                clause.ifs = [*self._stored(clause), *(self.truth(condition) for condition in clause.ifs)]
                if self.pauses and not quiet and not clause.is_async:
                    enters = clause is first and _ENTERS and not isinstance(node, ast.GeneratorExp)
                    clause.iter = build.place(build.call("turns", clause.iter, ast.Constant(enters)), clause.iter)
            if isinstance(node, ast.DictComp):
                node.key, node.value = self.expression(node.key), self.expression(node.value)
            else:
                node.elt = self.expression(node.elt)
        return build.place(build.either(*hoisted, node), node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def _stored(self, clause: ast.comprehension) -> list[ast.expr]:
        """If a loop's target is an attribute, make it a plain variable, and return conditions that store it.

        The conditions report the store and are always true.
        """
        target = clause.target
        if self.context.quiet or not isinstance(target, ast.Attribute):
            return []
        hook = self.attribute_report(target.attr, 1)
        base = self.expression(target.value)
        if hook is None or not isinstance(base, ast.Name):
            return []
        report = build.place(ast.Compare(hook([base]), [ast.Is()], [ast.Constant(None)]), target)
        store = ast.Call(
            build.load("setattr"), [base, ast.Constant(self.mangled(target.attr)), build.load(_ELEMENT)], []
        )
        stored = ast.Compare(store, [ast.Is()], [ast.Constant(None)])
        clause.target = ast.copy_location(build.store(_ELEMENT), target)
        return [report, build.place(stored, target)]

    def _source(self, node: Comprehension) -> ast.expr:
        later = isinstance(node, ast.GeneratorExp) or (self.pauses and _ENTERS)
        return self.iterated(node.generators[0].iter, later=later)


_KEPT_VARIABLE: Final = "keeps a function that uses the variable of a comprehension"
_FORMAT: Final = re.compile(r"%(?:%|([-+ #0]*)(\d{0,3})(?:(\.)(\d{0,3}))?([sra]))")


def as_compiled(node: ast.BinOp) -> ast.JoinedStr | None:
    """Return the f-string into which the compiler changes `"%s .." % (a, ..)`; None if it leaves the operation alone.

    The f-string formats one value after another, not all in one step. See CPython, Python/ast_opt.c,
    `optimize_format`.
    """
    left, right = node.left, node.right
    if not (isinstance(node.op, ast.Mod) and isinstance(left, ast.Constant) and isinstance(right, ast.Tuple)):
        return None
    if not isinstance(left.value, str) or any(isinstance(part, ast.Starred) for part in right.elts):
        return None
    values: list[ast.expr] = []
    operands, text, end = iter(right.elts), "", 0
    for found in _FORMAT.finditer(left.value):
        between, end = left.value[end : found.start()], found.end()
        text += between + ("%" if found[0] == "%%" else "")
        operand = None if found[0] == "%%" else next(operands, None)
        if "%" in between or (operand is None and found[0] != "%%"):
            return None
        if operand is not None:
            width = found[2] and ("" if "-" in found[1] else ">") + found[2]
            precision = f".{int(found[4] or 0)}" if found[3] else ""
            values += [ast.Constant(text)] if text else []
            values.append(ast.FormattedValue(operand, ord(found[5]), _specification(width + precision)))
            text = ""
    text += left.value[end:]
    if "%" in left.value[end:] or next(operands, None) is not None:
        return None
    return build.place(ast.JoinedStr([*values, *([ast.Constant(text)] if text else [])]), node)


def _specification(text: str) -> ast.JoinedStr | None:
    return ast.JoinedStr([ast.Constant(text)]) if text else None


def _are_scalars(node: ast.expr, is_scalar: Callable[[ast.expr], bool]) -> bool:
    """Whether an expression creates a container of scalars."""
    return isinstance(node, ast.List | ast.Tuple | ast.Set) and all(map(is_scalar, node.elts))


def attribute(base: ast.expr, node: ast.Attribute) -> ast.expr:
    """Return a load of the attribute from another object, at the same position."""
    return ast.copy_location(ast.Attribute(base, node.attr, ast.Load()), node)


def is_super(node: ast.expr) -> bool:
    """Whether an expression is `super()`, which must not be changed, because the compiler requires this text."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
