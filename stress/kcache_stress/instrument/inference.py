"""Static inference about values: whether a value may be a container that other threads can see."""

import ast
from typing import Final

from ..knowledge.functions import NEW_BUILTINS, SAME_BUILTINS, SCALAR_BUILTINS
from .locality import NEW, private_names
from .names import mangle
from .scopes import Scope

_TRUTHS: Final = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
"""Comparisons whose value is always a bool."""


class Inference:
    """Inference about the expressions of one module."""

    def __init__(self, module: Scope) -> None:
        self._module = module
        self._private: dict[Scope, frozenset[str]] = {}

    def is_builtin(self, name: str, scope: Scope) -> bool:
        """Whether a name refers to the builtin with this name."""
        return scope.owner(name) is None and name not in self._module.stores and "*" not in self._module.stores

    def is_scalar(self, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
        """Whether a value is certainly no container, view, iterator or bound method."""
        if isinstance(node, ast.Constant | ast.JoinedStr | ast.Lambda):
            return True
        if isinstance(node, ast.Compare):
            sides = (node.left, *node.comparators)
            return all(isinstance(each, _TRUTHS) for each in node.ops) or all(
                self.is_scalar(side, scope, depth) for side in sides
            )
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.Not) or self.is_scalar(node.operand, scope, depth)
        if isinstance(node, ast.BinOp):
            # Either side may overload the operator and return an object that other threads know.
            return all(self.is_scalar(side, scope, depth) for side in (node.left, node.right))
        if isinstance(node, ast.BoolOp):
            return all(self.is_scalar(value, scope, depth) for value in node.values)
        if isinstance(node, ast.IfExp):
            return self.is_scalar(node.body, scope, depth) and self.is_scalar(node.orelse, scope, depth)
        if isinstance(node, ast.Call):
            if not (isinstance(node.func, ast.Name) and self.is_builtin(node.func.id, scope)):
                return False
            same = node.func.id in SAME_BUILTINS and all(
                self.is_scalar(argument, scope, depth) for argument in node.args
            )
            return same or node.func.id in SCALAR_BUILTINS
        if isinstance(node, ast.Name):
            return self._is_scalar_name(mangle(node.id, scope.class_name), scope, depth)
        return False

    def _is_scalar_name(self, name: str, scope: Scope, depth: int) -> bool:
        values = scope.values.get(name)
        if depth > 2 or scope.kind != "function" or not values or name in scope.parameters or name in scope.cells:
            return False
        if name in scope.global_names or name in scope.nonlocal_names:
            return False
        return all(value is not None and self._is_scalar_value(name, value, scope, depth) for value in values)

    def _is_scalar_value(self, name: str, value: ast.expr, scope: Scope, depth: int) -> bool:
        if isinstance(value, ast.BinOp) and isinstance(value.left, ast.Name) and value.left.id == name:
            return self.is_scalar(value.right, scope, depth + 1)  # `n += 1`: scalar if all the other values are
        return self.is_scalar(value, scope, depth + 1)

    def is_unshared(self, node: ast.expr, scope: Scope) -> bool:
        """Whether accesses to a value need no report: it is a scalar, or no other thread can know it yet."""
        if isinstance(node, ast.List | ast.Dict | ast.Set | ast.Tuple | ast.ListComp | ast.SetComp | ast.DictComp):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NEW_BUILTINS:
            return self.is_builtin(node.func.id, scope)
        if isinstance(node, ast.GeneratorExp):
            return True
        if isinstance(node, ast.BinOp):
            return all(isinstance(side, NEW) or self.is_scalar(side, scope) for side in (node.left, node.right))
        if isinstance(node, ast.BoolOp):
            return all(self.is_unshared(value, scope) for value in node.values)
        if isinstance(node, ast.IfExp):
            return self.is_unshared(node.body, scope) and self.is_unshared(node.orelse, scope)
        if isinstance(node, ast.NamedExpr):
            return self.is_unshared(node.value, scope)
        return self.is_scalar(node, scope) or self.is_private(node, scope)

    def is_flat(self, node: ast.expr, scope: Scope) -> bool:
        """Whether a value is certainly no container that holds another container, even if it is new."""
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return all(self.is_flat(element, scope) for element in node.elts)
        if isinstance(node, ast.Dict):
            return all(part is not None and self.is_flat(part, scope) for part in (*node.keys, *node.values))
        if isinstance(node, ast.NamedExpr):
            return self.is_flat(node.value, scope)
        if isinstance(node, ast.GeneratorExp):
            return True  # its iteration is reported where it happens
        return self.is_scalar(node, scope)

    def is_private(self, node: ast.expr, scope: Scope) -> bool:
        """Whether an expression is a variable that only ever holds containers that never leave the function."""
        if not isinstance(node, ast.Name):
            return False
        name = mangle(node.id, scope.class_name)
        owner = scope.owner(name)
        if owner is None or owner.kind != "function":
            return False
        if owner not in self._private:
            self._private[owner] = private_names(owner, self._module)
        return name in self._private[owner]
