# ruff: noqa: D102, N802 - the visitors are named after the nodes, as ast.NodeVisitor wants it
"""Rewriter of calls."""

import ast
import functools
from collections.abc import Callable
from typing import cast

from ..knowledge import functions, tables
from . import build
from .context import Atoms
from .expressions import Expressions, attribute, is_super
from .locality import NEW
from .names import Hook


class Calls(Expressions):
    """Visitor of calls."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if self.context.quiet:
            return cast(ast.expr, self.generic_visit(node))
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            return node
        if self._names_locals(node):
            return build.place(build.call("locals", node), node) if self.context.scope.kind == "function" else node
        called = self._call(node)
        return build.place(build.call("after", called), node) if self.pauses else called

    def _names_locals(self, node: ast.Call) -> bool:
        if not isinstance(node.func, ast.Name) or node.args or node.keywords:
            return False
        return node.func.id in functions.LISTING_BUILTINS and self.inference.is_builtin(
            node.func.id, self.context.scope
        )

    def _call(self, node: ast.Call) -> ast.expr:
        if any(isinstance(value, ast.Starred) for value in node.args) or any(key.arg is None for key in node.keywords):
            return self._unpacked(node)
        function = node.func
        if isinstance(function, ast.Name) and self.inference.is_builtin(function.id, self.context.scope):
            known = self._builtin(node, function.id)
            if known is not None:
                return known
        elif isinstance(function, ast.Attribute) and not is_super(function.value):
            return self._method(node, function)
        return self._plain(node)

    def _arguments(self, node: ast.Call) -> list[ast.expr]:
        return self.expressions(self._values(node))

    def _values(self, node: ast.Call) -> list[ast.expr]:
        return [*node.args, *(keyword.value for keyword in node.keywords)]

    def _is_hidden(self, value: ast.expr) -> bool:
        """Whether the hook can do without an argument: a new container that holds no containers."""
        return isinstance(value, NEW) and self.is_flat(value)

    def _shown(self, node: ast.Call, atoms: Atoms) -> list[ast.expr]:
        """Return the arguments of the hook: None replaces each argument that the hook does not need."""
        shown = [
            ast.Constant(None) if self._is_hidden(value) else atom
            for value, atom in zip(self._values(node), atoms, strict=True)
        ]
        # If the first argument is passed by name, it is no key.
        return [*([ast.Constant(None)] if not node.args and node.keywords else []), *shown]

    def _again(self, node: ast.Call, function: ast.expr, atoms: Atoms) -> ast.Call:
        count = len(node.args)
        keywords = [
            ast.copy_location(ast.keyword(keyword.arg, atom), keyword)
            for keyword, atom in zip(node.keywords, atoms[count:], strict=True)
        ]
        return ast.copy_location(ast.Call(function, list(atoms[:count]), keywords), node)

    def _untouched(self, node: ast.Call) -> ast.expr:
        return self._again(node, self.expression(node.func), self._arguments(node))

    def _builtin(self, node: ast.Call, name: str) -> ast.expr | None:
        """Rewrite the call of a builtin whose effect is known; return None if the hook must find the effect."""
        if name in functions.UNREPORTED_BUILTINS and not (name == "type" and len(node.args) > 1):
            return self._untouched(node)
        if name in functions.ATTRIBUTE_BUILTINS and len(node.args) > 1:
            write = ast.Constant(functions.ATTRIBUTE_BUILTINS[name])
            return self._after(node, lambda of: build.call("by_name", of[0], of[1], write), embed=False)
        if name == "next" and node.args:
            return self._after(node, lambda of: build.call("advance", of[0]), embed=False)
        if name == "vars" and len(node.args) == 1:
            return self._after(node, lambda of: build.call("namespace", of[0]))
        if name in functions.READING_BUILTINS and len(node.args) == 1 and not node.keywords:
            looks, argument = name in functions.LOOKING_BUILTINS, node.args[0]
            if self.is_flat(argument) or (not looks and self.is_unshared(argument)):
                return self._untouched(node)
            hook: Hook = "read"
            if looks:
                hook = "within" if self.is_unshared(argument) else "mapping" if name == "dict" else "deep"
            return self._after(node, lambda of: build.call(hook, *of), [0], quiet="atoms" if looks else "quiet")
        if (
            name in functions.ATTRIBUTE_BUILTINS
            or name in functions.UNKNOWN_BUILTINS
            or name == "print"
            or not all(map(self.is_unshared, self._values(node)))
        ):
            return None
        watched = self._watched_arguments(node)
        if not watched:
            return self._untouched(node)
        return self._after(
            node, lambda of: build.call("within", *(of[number] for number in watched)), watched, quiet="atoms"
        )

    def _after(
        self,
        node: ast.Call,
        hook: Callable[[Atoms], ast.expr],
        watched: list[int] | None = None,
        *,
        embed: bool = True,
        quiet: Hook = "quiet",
    ) -> ast.expr:
        """Return an expression that calls a hook, then the builtin."""
        again = functools.partial(self._again, node, node.func)
        return self.context.guard(node, self._arguments(node), hook, again, watched, embed=embed, quiet=quiet)

    def _method_after(
        self,
        node: ast.Call,
        function: ast.Attribute,
        operands: list[ast.expr],
        hook: Callable[[Atoms], ast.expr],
        watched: list[int] | None = None,
        *,
        embed: bool = True,
    ) -> ast.expr:
        """Return an expression that calls a hook, then the method; the first operand is the object of the method."""

        def again(of: Atoms) -> ast.expr:
            return self._again(node, attribute(of[0], function), of[1:])

        return self.context.guard(node, operands, hook, again, watched, embed=embed)

    def _watched_arguments(self, node: ast.Call) -> list[int]:
        return [number for number, value in enumerate(self._values(node)) if not self.is_flat(value)]

    def _method(self, node: ast.Call, function: ast.Attribute) -> ast.expr:
        name = self.mangled(function.attr)
        if name == "__init__":
            return self._plain(node)
        watched = self._watched_arguments(node)
        stored = name in self.facts.stored_names
        if self._is_own_method(function) or (name in tables.VIEW_NAMES and not stored and not watched):
            return self._untouched(node)
        if name in tables.CLOCK_NAMES:
            return self._plain(node, function=build.call("clock", self.expression(function)))
        if name in tables.METHOD_NAMES and self.is_unshared(function.value):
            several = name in tables.CONSUMING_NAMES and len(self._values(node)) > 1
            looks = several or name in tables.COMPARING_NAMES or name == "update"
            return self._looking_method_of_new(node, function) if looks else self._method_of_new(node, name)
        arguments = self._arguments(node)
        if name in {"__setattr__", "__delattr__"} and arguments:
            return self._store_by_name(node, function, arguments)
        if name not in tables.METHOD_NAMES and not stored and not watched:
            if self.attribute_report(function.attr) is not None:
                return self._plain(node, arguments)
            return self._perhaps_foreign(node, function, arguments)
        atoms = all(isinstance(argument, ast.Name | ast.Constant) for argument in arguments)
        known_name = name in tables.METHOD_NAMES or not stored
        if not (atoms and known_name) or self.attribute_report(function.attr) is not None:
            return self._plain(node, arguments)

        def hook(of: Atoms) -> ast.expr:
            shown = self._shown(node, of[1:])
            return build.call("method1" if len(shown) == 1 else "method", of[0], ast.Constant(name), *shown)

        operands = [self.expression(function.value), *arguments]
        return self._method_after(node, function, operands, hook, self._inline(name, stored, watched))

    def _method_of_new(self, node: ast.Call, name: str) -> ast.expr:
        """Rewrite a method call on a container that no other thread can know; others may know its arguments."""
        rewrite = self.consumed if name in tables.CONSUMING_NAMES else self.expression
        arguments = [rewrite(value) for value in self._values(node)]
        return self._again(node, self.expression(node.func), arguments)

    def _looking_method_of_new(self, node: ast.Call, function: ast.Attribute) -> ast.expr:
        """Rewrite a method call on a new container that accesses the elements of the container or its arguments."""
        operands = [self.expression(function.value), *self._arguments(node)]
        return self._method_after(node, function, operands, lambda of: build.call("of_new", *of))

    def _store_by_name(self, node: ast.Call, function: ast.Attribute, arguments: list[ast.expr]) -> ast.expr:
        """Rewrite `object.__setattr__(self, name, value)` or `self.__setattr__(name, value)`."""
        first = 1 if len(arguments) > 1 + (function.attr == "__setattr__") else 0
        operands = [self.expression(function.value), *arguments]
        return self._method_after(
            node,
            function,
            operands,
            lambda of: build.call("by_name", of[first], of[first + 1], ast.Constant(1)),
            embed=False,
        )

    def _inline(self, name: str, stored: bool, watched: list[int]) -> list[int] | None:
        """Return the operands whose types decide whether the hook is needed; None if it is always needed."""
        if stored or name in tables.FORMAT_NAMES:
            return None
        if name in tables.METHOD_NAMES:
            return [0, *(number + 1 for number in watched)] if len(watched) < 2 else None
        return [number + 1 for number in watched]

    def _perhaps_foreign(self, node: ast.Call, function: ast.Attribute, arguments: list[ast.expr]) -> ast.expr:
        """Rewrite a method call that needs a report only if the type of its object is not quiet."""
        operands, name = [self.expression(function.value), *arguments], ast.Constant(self.mangled(function.attr))
        return self._method_after(node, function, operands, lambda of: build.call("method", of[0], name), [0])

    def _is_own_method(self, function: ast.Attribute) -> bool:
        """Whether the call is `self.method()` with a method of the class that is being rewritten."""
        return (
            isinstance(function.value, ast.Name)
            and function.value.id == self.context.receiver
            and function.attr in self.context.methods
            and self.mangled(function.attr) not in self.facts.stored_names
        )

    def _plain(
        self, node: ast.Call, arguments: list[ast.expr] | None = None, function: ast.expr | None = None
    ) -> ast.expr:
        """Rewrite a call whose callee is only known at run time."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in self.functions and self.context.scope.owner(name) is None:
            return self._untouched(node)
        if arguments is None:
            arguments = self._arguments(node)
        return self.context.guard(
            node,
            [function or self.expression(node.func), *arguments],
            lambda of: build.call("call1" if len(of) == 2 and node.args else "call", of[0], *self._shown(node, of[1:])),
            lambda of: self._again(node, of[0], of[1:]),
            embed=not any(map(self._is_hidden, self._values(node))),
        )

    def _unpacked(self, node: ast.Call) -> ast.expr:
        """Rewrite a call with star-arguments: the positional arguments become one tuple, as in CPython."""
        one = node.args[0] if len(node.args) == 1 else None
        function = self.expression(node.func)
        if isinstance(one, ast.Starred):
            positional = self.expression(one.value)
        else:
            positional = ast.Tuple(self.expressions(node.args), ast.Load())
        keywords = [
            self._unpacked_names(keyword.value) if keyword.arg is None else self.expression(keyword.value)
            for keyword in node.keywords
        ]
        operands, at = [function, positional, *keywords], 1
        if isinstance(one, ast.Starred) and not self.is_unshared(one.value):
            if keywords and self.context.binds:  # a single star is unpacked after the named arguments are evaluated
                name = self.context.temporary()
                operands[1] = ast.NamedExpr(build.store(name), positional)
                operands.append(build.call("star", build.load(name)))
                at = -1
            else:
                operands[1] = build.call("star", positional)

        def operation(of: Atoms) -> ast.expr:
            again = [
                ast.copy_location(ast.keyword(keyword.arg, atom), keyword)
                for keyword, atom in zip(node.keywords, of[2 : 2 + len(keywords)], strict=True)
            ]
            return ast.copy_location(ast.Call(of[0], [ast.Starred(of[at], ast.Load())], again), node)

        def hook(of: Atoms) -> ast.expr:
            named = [
                atom
                for keyword, atom in zip(node.keywords, of[2 : 2 + len(keywords)], strict=True)
                if keyword.arg is not None
            ]
            return build.call("unpacked", of[0], of[at], *named)

        return self.context.guard(node, operands, hook, operation, embed=False)

    def _unpacked_names(self, node: ast.expr) -> ast.expr:
        value = self.expression(node)
        return value if self.is_unshared(node) else build.place(build.call("double_star", value), node)
