# ruff: noqa: N815 - the visitors are named after the nodes, as ast.NodeVisitor wants it
"""Facts about the attribute names of all instrumented modules together.

If an attribute is only stored on `self` inside `__init__`, before any other thread can have seen the object, it never
changes afterwards, and reading it needs no report. This keeps instrumented code fast.
"""

import ast
import builtins
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from ..knowledge.functions import STORING_BUILTINS
from ..knowledge.tables import (
    ATTRIBUTE_METHODS,
    CHANGED_BY_LIBRARY,
    CONSTRUCTORS,
    PRIVATE_BASES,
    REACHES_GLOBALS,
    STORES_ALL,
)
from .construction import construction_of
from .names import Function, mangle

HARMLESS_BASES: Final = PRIVATE_BASES | {
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
}
"""Names of classes that are not instrumented and whose `__init__` does not pass the new object to other code."""
_BY_NAME: Final = STORING_BUILTINS | (STORES_ALL & ATTRIBUTE_METHODS)


@dataclass(frozen=True)
class Facts:
    """Names that can change while threads run.

    Attributes:
        mutable_names: attributes stored where other threads may already see the object.
        everything_mutable: attributes are stored by names not in the source (`setattr` with a variable, `vars`).
        after_super: attributes that `__init__` stores after it called the `__init__` of its base.
        init_escapes: some `__init__` passes `self` to other code before it ends.
        class_level: attributes of classes and modules, whose owner must be looked up at run time.
        named_owners: (name, attribute) pairs: the attribute was stored on the object with this name.
        class_names: the classes that are defined.
        module_names: the modules that are imported.
        written_globals: globals that functions rebind.
        stored_names: attributes stored anywhere.
        reconstructs: `__init__` may run on an object that other threads know.
        bases: the base classes, by name, of classes whose `__init__` stores after it called the base's `__init__`.
        constructed: attributes that `__init__` stores before other code can see the object.
        everything_global: globals are accessed by names not in the source.
        derivations: (class, base) pairs, by name; "?" is a base without a name.
        constructors: the names that each `__init__` stores before other code can see the object, in order.
        setters: names that classes bind to properties or other objects: storing such an attribute may call code.
    """

    mutable_names: frozenset[str] = frozenset()
    everything_mutable: bool = False
    after_super: frozenset[str] = frozenset()
    init_escapes: bool = False
    class_level: frozenset[str] = frozenset()
    named_owners: frozenset[tuple[str, str]] = frozenset()
    class_names: frozenset[str] = frozenset()
    module_names: frozenset[str] = frozenset()
    written_globals: frozenset[str] = frozenset()
    stored_names: frozenset[str] = frozenset()
    reconstructs: bool = False
    bases: frozenset[str] = frozenset()
    constructed: frozenset[str] = frozenset()
    everything_global: bool = False
    derivations: frozenset[tuple[str, str]] = frozenset()
    constructors: frozenset[tuple[str, ...]] = frozenset()
    setters: frozenset[str] = frozenset()

    def merge(self, other: "Facts") -> "Facts":
        """Return the facts of the modules of both, if they are instrumented together."""
        merged = {field.name: getattr(self, field.name) | getattr(other, field.name) for field in fields(self)}
        return Facts(**merged)._concluded()

    def about(self, words: frozenset[str]) -> "Facts":
        """Return the facts that matter for a module with these words; only if they change it is rewritten again."""

        def used(names: frozenset[str]) -> frozenset[str]:
            return frozenset(name for name in names if name in words or _is_dunder(name) or _unmangled(name) & words)

        return Facts(
            frozenset() if self.everything_mutable else used(self.mutable_names),
            self.everything_mutable,
            used(self.after_super) if self.escapes else frozenset(),
            self.escapes,
            used(self.class_level),
            written_globals=used(self.written_globals),
            stored_names=used(self.stored_names),
            reconstructs=self.reconstructs,
            constructed=used(self.constructed) if self.reconstructs else frozenset(),
            everything_global=self.everything_global,
            derivations=frozenset((name, "type") for name in used(self.metaclasses)),
            constructors=frozenset((name,) for name in used(self.shown)),
            setters=used(self.shown),
        )

    def as_tuple(self, order: Callable[[frozenset[Any]], Any] = frozenset) -> tuple[object, ...]:
        """Return the fields by position, with ``order`` applied to each set."""
        values = (getattr(self, field.name) for field in fields(self))
        return tuple(order(value) if isinstance(value, frozenset) else value for value in values)

    @functools.cached_property
    def escapes(self) -> bool:
        """Whether some `__init__` passes `self` to other code; an uninstrumented base may do so, too."""
        return self.init_escapes or not self.bases <= self.class_names | HARMLESS_BASES

    @functools.cached_property
    def metaclasses(self) -> frozenset[str]:
        """Names of the classes whose instances may be classes."""
        found = {"?", "type"} | {base for _, base in self.derivations if base.endswith(("Meta", "Type"))}
        while derived := {name for name, base in self.derivations if base in found and name not in found}:
            found |= derived
        return frozenset(found)

    @functools.cached_property
    def shown(self) -> frozenset[str]:
        """Attributes that some `__init__` stores in or after a store that may call code with the new object."""
        calling = self.setters | self.class_level
        found: set[str] = set()
        for names in self.constructors:
            found.update(itertools.dropwhile(lambda name: name not in calling, names))
        return frozenset(found)

    def conclude(self) -> None:
        """Compute the cached properties now."""
        for name in ("escapes", "metaclasses", "shown"):
            getattr(self, name)

    def is_mutable(self, name: str) -> bool:
        """Whether the attribute `name` can change after its object was constructed."""
        if self.everything_mutable or name in self.mutable_names or name in CHANGED_BY_LIBRARY:
            return True
        if self.escapes and name in self.after_super:
            return True
        return self.reconstructs and name in self.constructed

    def is_class_level(self, name: str) -> bool:
        """Whether the attribute `name` may be stored on a class or a module, and change there."""
        return name in self.class_level

    def is_written_global(self, name: str) -> bool:
        """Whether a global of that name can change after the module was imported."""
        return self.everything_global or name in self.written_globals

    def _concluded(self) -> "Facts":
        """Return these facts with the conclusions that need the facts of all modules."""
        on_classes = {attribute for owner, attribute in self.named_owners if owner in self.class_names}
        on_modules = {attribute for owner, attribute in self.named_owners if owner in self.module_names}
        return replace(
            self,
            mutable_names=self.mutable_names | self.shown | (self.after_super if self.init_escapes else frozenset()),
            class_level=self.class_level | on_classes | on_modules | self.written_globals,
            written_globals=self.written_globals | on_modules,
        )


def collect_facts(tree: ast.Module) -> Facts:
    """Collect the facts of one module from its syntax tree."""
    collector = _Collector()
    collector.visit(tree)
    return collector.facts()


class _Collector(ast.NodeVisitor):
    def __init__(self) -> None:
        self._mutable_names: set[str] = set()
        self._everything_mutable = False
        self._after_super: set[str] = set()
        self._init_escapes = False
        self._class_level: set[str] = set()
        self._named_owners: set[tuple[str, str]] = set()
        self._class_names: set[str] = set()
        self._module_names: set[str] = set()
        self._written_globals: set[str] = set()
        self._stored_names: set[str] = set()
        self._class: ast.ClassDef | None = None
        self._functions: list[Function | ast.Lambda] = []
        self._class_like: set[str] = set()
        self._early_stores: set[ast.Attribute] = set()
        self._constructed: set[str] = set()
        self._reconstructs = False
        self._bases: set[str] = set()
        self._everything_global = False
        self._derivations: set[tuple[str, str]] = set()
        self._constructors: set[tuple[str, ...]] = set()
        self._setters: set[str] = set()
        self._called: set[ast.expr] = set()

    def facts(self) -> Facts:
        self._constructed |= {store.attr for store in self._early_stores}
        found = {field.name: getattr(self, f"_{field.name}") for field in fields(Facts)}
        found = {name: frozenset(value) if isinstance(value, set) else value for name, value in found.items()}
        return Facts(**found)._concluded()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        outer, self._class = self._class, node
        self._class_names.add(node.name)
        self._derivations.update((node.name, _name_of_base(base)) for base in node.bases)
        for statement in node.body:  # a class may store any callable object
            if isinstance(statement, ast.Assign):
                names = set(_plain_names(statement.targets))
                self._stored_names.update(names)
                self._reconstructs |= bool(names & CONSTRUCTORS)
                if not isinstance(statement.value, ast.Constant):
                    self._setters.update(map(self._mangled, names))
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.value, ast.Call):
                self._setters.update(map(self._mangled, _plain_names([statement.target])))
            elif isinstance(statement, ast.FunctionDef) and any(map(_is_setter, statement.decorator_list)):
                self._setters.add(self._mangled(statement.name))
        if node.decorator_list:  # perhaps a dataclass, whose `__init__` stores the annotated names
            for statement in node.body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    self._constructed.add(statement.target.id)
        self.generic_visit(node)
        self._class = outer

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._functions.append(node)
        self.generic_visit(node)
        self._functions.pop()

    def visit_Import(self, node: ast.Import) -> None:
        self._module_names.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self._module_names.update(alias.asname or alias.name for alias in node.names)
        self._everything_mutable |= any(alias.name in _BY_NAME for alias in node.names)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            self._everything_mutable |= node.attr in STORES_ALL
            self._everything_global |= node.attr in REACHES_GLOBALS
            self._reconstructs |= node.attr in CONSTRUCTORS and node not in self._called
            return
        if node.attr == "__dict__":
            self._everything_mutable = True
        name = self._mangled(node.attr)
        self._stored_names.add(name)
        if not self._functions or node in self._early_stores:
            return  # code outside functions runs while the module is imported: no thread can see it
        self._mutable_names.add(name)
        self._owner(node.value, name)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self._everything_mutable |= node.value in STORES_ALL or node.value in _BY_NAME
            self._everything_global |= node.value in REACHES_GLOBALS
            self._reconstructs |= node.value in CONSTRUCTORS

    def visit_Name(self, node: ast.Name) -> None:
        self._everything_mutable |= node.id in _BY_NAME
        self._reconstructs |= node.id in CONSTRUCTORS and isinstance(node.ctx, ast.Load)
        if self._functions:
            self._everything_global |= node.id == "globals"

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in {"__init__", "__post_init__"} and isinstance(node.func, ast.Attribute) and self._functions:
            # Outside a constructor, or on `self`: the object is constructed again, while other threads know it.
            inside = getattr(self._functions[-1], "name", "") in {"__init__", "__post_init__"}
            self._reconstructs |= not inside or getattr(node.func.value, "id", "") == "self"
            if not inside:
                self._mutable_names.update(keyword.arg for keyword in node.keywords if keyword.arg)
                self._everything_mutable |= any(keyword.arg is None for keyword in node.keywords)
        self._called.add(node.func)
        if name not in {"setattr", "delattr", "__setattr__", "__delattr__"}:
            self.generic_visit(node)
            return
        # `super().__setattr__(name, value)` has the name first, `object.__setattr__(self, name, value)` second
        position = 0 if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call) else 1
        key = node.args[position] if len(node.args) > position else None
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            self._stored_names.add(key.value)
            self._mutable_names.add(key.value)
            if position == 1:
                self._owner(node.args[0], key.value)
        else:
            self._everything_mutable = True
        for child in (*node.args, *node.keywords):
            self.visit(child)
        if isinstance(node.func, ast.Attribute):
            self.visit(node.func.value)

    def _function(self, node: Function) -> None:
        if any("cached_property" in ast.unparse(decorator) for decorator in node.decorator_list):
            self._mutable_names.add(node.name)
            self._class_level.add(node.name)
        if node.name == "__setstate__":
            self._everything_mutable = True
        if node.name == "__new__":
            self._reconstructs = True  # it may return an object that other threads know, and `__init__` runs on it
        if self._class is not None and node in self._class.body and not self._functions:
            self._constructor(self._class, node)
        outer = self._class_like
        self._class_like = outer | set(_class_variables(node))
        self._functions.append(node)
        for statement in ast.walk(node):
            if isinstance(statement, ast.Global):
                self._declared(node, {self._mangled(name) for name in statement.names})
        self.generic_visit(node)
        self._functions.pop()
        self._class_like = outer

    visit_FunctionDef = visit_AsyncFunctionDef = _function

    def _declared(self, node: Function, names: set[str]) -> None:
        stores = (ast.Name, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.alias)
        for child in ast.walk(node):
            if isinstance(child, stores):
                load = isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load)
                bound = child.id if isinstance(child, ast.Name) else child.name
                if isinstance(child, ast.alias):
                    bound = child.asname or child.name.partition(".")[0]
                if not load and self._mangled(bound) in names:
                    self._written_globals.add(self._mangled(bound))
            for bound in _bound_by_pattern(child):
                if self._mangled(bound) in names:
                    self._written_globals.add(self._mangled(bound))

    def _constructor(self, owner: ast.ClassDef, node: Function) -> None:
        construction = construction_of(owner, node)
        if construction is None:
            return
        self._early_stores |= construction.private | construction.after_super
        self._after_super |= {self._mangled(store.attr) for store in construction.after_super}
        if construction.after_super:
            self._bases.update(_name_of_base(base) for base in owner.bases)
        self._init_escapes |= construction.escapes
        self._constructors.add(tuple(map(self._mangled, construction.order)))

    def _owner(self, owner: ast.expr, name: str) -> None:
        """Record the owner on which `name` is stored, if it may be a class or a module."""
        if isinstance(owner, ast.Name):
            self._named_owners.add((owner.id, name))
        if _is_class(owner) or (isinstance(owner, ast.Name) and owner.id in self._class_like):
            self._class_level.add(name)
        elif isinstance(owner, ast.Attribute):
            self._named_owners.add((owner.attr, name))

    def _mangled(self, name: str) -> str:
        return mangle(name, self._class.name if self._class else None)


def _is_setter(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Attribute) and decorator.attr in {"setter", "deleter"}


def _bound_by_pattern(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds by a text, not by a node."""
    found = getattr(node, "rest", None) if isinstance(node, ast.MatchMapping) else None
    if isinstance(node, ast.MatchStar | ast.MatchAs | ast.ExceptHandler):
        found = node.name
    if found is not None:
        yield found


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _unmangled(name: str) -> set[str]:
    """Return the private names of which this may be the mangled form, in any class."""
    return {name[at:] for at in range(1, len(name)) if name.startswith("__", at)} if name.startswith("_") else set()


def _name_of_base(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        return _name_of_base(node.value)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "?")


def _is_class(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "type"
    return (isinstance(node, ast.Attribute) and node.attr == "__class__") or (
        isinstance(node, ast.Name) and node.id in {"cls", "__class__"}
    )


def _class_variables(node: Function) -> Iterator[str]:
    """Yield the local names of a function that are bound to a class."""
    if any(isinstance(decorator, ast.Name) and decorator.id == "classmethod" for decorator in node.decorator_list):
        yield from (argument.arg for argument in (node.args.posonlyargs + node.args.args)[:1])
    for child in ast.walk(node):
        if isinstance(child, ast.Assign) and _is_class(child.value):
            yield from _plain_names(child.targets)


def _plain_names(targets: Iterable[ast.expr]) -> Iterator[str]:
    return (target.id for target in targets if isinstance(target, ast.Name))
