"""Context of the rewriter: the current scope, and how temporaries are bound in it."""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from . import build
from .names import PREFIX, Hook
from .scopes import Scope

Atoms = Sequence[ast.expr]


@dataclass(eq=False)
class Context:
    """One scope that is being rewritten.

    Attributes:
        scope: the scope.
        quiet: nothing is reported, because the code runs while the module is imported, before there are threads.
        receiver: the name of the first parameter of a method.
        methods: the functions that the class of the method defines.
        private: the stores of `__init__` to an object that no other code can know yet.
        manages: whether the function is a generator that is made a context manager.
        most: the largest number of temporaries of a statement so far.
    """

    scope: Scope
    quiet: bool = False
    receiver: str | None = None
    methods: frozenset[str] = frozenset()
    private: frozenset[ast.expr] = frozenset()
    manages: bool = False
    most: int = 0
    _used: int = 0
    _statement: list[str] = field(default_factory=list)

    @property
    def binds(self) -> bool:
        """Whether temporaries may be locals. In comprehensions locals leak; in classes they become attributes."""
        return self.scope.kind == "function"

    def temporary(self) -> str:
        """Return a fresh name; the next statement uses the names again."""
        name = f"{PREFIX}{self._used}"
        self._used += 1
        self.most = max(self.most, self._used)
        self._statement.append(name)
        return name

    def start_statement(self) -> None:
        """Forget the temporaries of the previous statement."""
        self._used = 0
        self._statement.clear()

    def taken(self) -> list[str]:
        """Return the temporaries of this statement."""
        return list(self._statement)

    def guard(
        self,
        source: ast.AST,
        operands: Atoms,
        hook: Callable[[Atoms], ast.expr],
        operation: Callable[[Atoms], ast.expr],
        watched: Sequence[int] | None = None,
        *,
        embed: bool = True,
        quiet: Hook = "quiet",
    ) -> ast.expr:
        """Return an expression that evaluates the operands in order, then the hook, then the operation.

        Args:
            source: provides the position of new nodes.
            operands: the operands, already rewritten.
            hook: builds the call of the hook from names or constants with the values of the operands, in this order.
            operation: builds the operation itself, from the same names or constants.
            watched: if given, the hook is only called if the type of one of these operands may need it.
            embed: the hook takes every operand, in order, so that its arguments can bind the temporaries.
            quiet: the name of the set of types that do not need the hook.
        """

        def check(first: Atoms, again: Atoms) -> ast.expr:
            if watched is None:
                return hook(first)
            return build.loud([first[number] for number in watched], hook(again), quiet)

        last = max((number for number, operand in enumerate(operands) if not self._is_atom(operand)), default=-1)
        if last < 0:
            return build.place(build.either(check(operands, operands), operation(operands)), source)
        if not self.binds:
            values = [operand for operand in operands if not isinstance(operand, ast.Constant)]
            names = [self.temporary() for _ in values]
            fresh = iter(names)
            atoms = [operand if isinstance(operand, ast.Constant) else build.load(next(fresh)) for operand in operands]
            body = build.either(check(atoms, atoms), operation(atoms))
            return build.place(ast.Call(ast.Lambda(build.names_parameters(names), body), values, []), source)
        bindings: list[ast.expr] = []
        first: list[ast.expr] = []
        again: list[ast.expr] = []
        if watched is None:
            embedded = embed
        else:
            embedded = list(watched) == [last] and all(self._stays(other) for other in operands[:last])
        for number, operand in enumerate(operands):
            if self._stays(operand) or (number > last and self._is_atom(operand)):
                first.append(operand)
                again.append(operand)
                continue
            name = self.temporary()
            again.append(build.load(name))
            if embedded:
                first.append(ast.NamedExpr(build.store(name), operand))
            else:
                bindings.append(build.bind(name, operand))
                first.append(build.load(name))
        return build.place(build.either(*bindings, check(first, again), operation(again)), source)

    def _is_atom(self, node: ast.expr) -> bool:
        """Whether an expression has the same value if it is evaluated twice in direct succession."""
        return isinstance(node, ast.Constant | ast.Name)

    def _stays(self, node: ast.expr) -> bool:
        """Whether an expression has the same value before and after the operands to its right are evaluated."""
        if isinstance(node, ast.Name):
            owner = self.scope.owner(node.id)
            return owner is not None and owner.is_fixed_parameter(node.id)
        return isinstance(node, ast.Constant)
