"""Part of `__init__` during which no other thread can have seen the new object."""

import ast
from collections.abc import Iterable

from .names import Function


class Construction:
    """Uses of `self` in one `__init__`, statement by statement.

    Attributes:
        private: the stores on `self` that happen before other code can see `self`.
        after_super: the stores after the call of a base class `__init__`, which may have passed `self` to other code.
        escapes: whether `self` is passed to other code.
        order: the names that are stored before `self` escapes, in order; a setter of such a name may pass `self` on.
    """

    def __init__(self, owner: ast.ClassDef, node: Function) -> None:
        self.private: set[ast.Attribute] = set()
        self.after_super: set[ast.Attribute] = set()
        self.order: list[str] = []
        self.escapes = bool(node.decorator_list)
        self._based = False
        self._self = (node.args.posonlyargs + node.args.args)[0].arg
        self._known = set(_constants(owner, fields=node.name == "__post_init__"))
        self._block(node.body)

    def _block(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self._visit(statement)

    def _visit(self, node: ast.AST) -> None:
        """Visit a node in the order in which Python evaluates it."""
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            if isinstance(node, ast.AugAssign) and self._is_own(node.target):
                self._load(node.target.attr)  # type: ignore[union-attr]
            if node.value is not None:
                self._visit(node.value)
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    self._visit(target)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
            self._loop(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            if any(isinstance(child, ast.Name) and child.id == self._self for child in ast.walk(node)):
                self.escapes = True
        elif isinstance(node, ast.Attribute) and self._is_own(node):
            if isinstance(node.ctx, ast.Load):
                self._load(node.attr)
            elif isinstance(node.ctx, ast.Store):
                self._store(node)
            else:
                self.escapes = True
        elif isinstance(node, ast.Name):
            self.escapes |= node.id in {self._self, "locals", "super", "vars", "__class__"}
        elif isinstance(node, ast.Call) and self._is_base_init(node):
            for child in (*node.args, *node.keywords):
                if not (isinstance(child, ast.Name) and child.id == self._self):
                    self._visit(child)
            self._based = True
        else:
            for child in ast.iter_child_nodes(node):
                self._visit(child)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        """Visit the body of a loop; visit it again if `self` escapes in it, or a base `__init__` is called."""
        if isinstance(node, ast.While):
            self._visit(node.test)
        else:
            self._visit(node.iter)
            self._visit(node.target)
        before = (self.escapes, self._based)
        self._block(node.body)
        if (self.escapes, self._based) != before:
            stores = {child for part in node.body for child in ast.walk(part) if isinstance(child, ast.Attribute)}
            self.private -= stores
            self.after_super -= stores
            self._block(node.body)
        self._block(node.orelse)

    def _load(self, name: str) -> None:
        # A name that was not stored yet is a method or a property, which receives `self`.
        self.escapes |= name not in self._known

    def _store(self, node: ast.Attribute) -> None:
        self._known.add(node.attr)
        if not self.escapes:
            self.order.append(node.attr)
            (self.after_super if self._based else self.private).add(node)

    def _is_own(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == self._self

    def _is_base_init(self, node: ast.Call) -> bool:
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in {"__init__", "__post_init__"}:
            return False
        base = node.func.value
        if isinstance(base, ast.Call):
            return isinstance(base.func, ast.Name) and base.func.id == "super"
        return bool(node.args) and isinstance(node.args[0], ast.Name) and node.args[0].id == self._self


def construction_of(owner: ast.ClassDef, node: Function) -> Construction | None:
    """Return the analysis of a constructor; None if the method is no constructor, or may run on an old object."""
    if node.name not in {"__init__", "__post_init__"} or not (node.args.posonlyargs + node.args.args):
        return None
    if any(isinstance(child, ast.FunctionDef) and child.name == "__new__" for child in owner.body):
        return None  # `__new__` may return an old object, which `__init__` then changes again
    return Construction(owner, node)


def _constants(owner: ast.ClassDef, *, fields: bool) -> Iterable[str]:
    """Yield the names that a class body binds to constants; with `fields`, also all annotated names."""
    for statement in owner.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            yield from (target.id for target in statement.targets if isinstance(target, ast.Name))
        elif isinstance(statement, ast.AnnAssign) and (fields or isinstance(statement.value, ast.Constant)):
            yield from (target.id for target in [statement.target] if isinstance(target, ast.Name))
