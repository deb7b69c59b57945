"""The implementation under test: a factory, and what it says of itself."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kcache import Indexer, Semantics

from ..errors import TargetError
from ..outcomes import error_text
from .operations import INDEX_OPERATIONS, OperationName

Factory: TypeAlias = Callable[..., Indexer[Any]]
"""``factory(key_func, indexers) -> Indexer``. If it takes a keyword ``semantics``, it is told ``"classic"`` or
``"current"``."""

IDENTITY = "identity"
"""Declared as unsupported by an implementation that returns copies of the stored objects."""

DEFAULT = "default"
"""Declared as unsupported by an implementation whose ``get`` and ``get_by_key`` take no default."""

FAILING_FUNCTIONS = "failing_functions"
"""Declared as unsupported by an implementation that says nothing about index functions that fail."""

INDEXES = "indexes"
"""Declared as unsupported by a plain Store; short for every operation on indices."""

_CONTENT = (OperationName.LIST, OperationName.LIST_KEYS, OperationName.GET_BY_KEY)
_LOOKUPS = (OperationName.LIST_INDEX_FUNC_VALUES, OperationName.INDEX_KEYS, OperationName.BY_INDEX)

FAILING_KEY_FUNCTIONS = "failing_key_functions"
"""Declared as unsupported by an implementation that says nothing about key functions that fail."""

UNKNOWN_INDEX = "unknown_index"
"""Declared as unsupported by an implementation that says nothing about lookups in an index that does not exist."""

NONE_VALUES = "none_values"
"""Declared as unsupported by an implementation whose index functions must return lists."""

LIVE_RESULTS = "live_results"
"""Declared as unsupported by an implementation whose callers must not change what they got."""

KEPT_ARGUMENTS = "kept_arguments"
"""Declared as unsupported by an implementation whose callers must not change what they gave to ``replace``."""

LISTS = "lists"
"""Declared as unsupported by an implementation that returns sets, views or generators where lists are due."""

SORTED_KEYS = "sorted_keys"
"""Declared as unsupported by an implementation whose ``index_keys`` has an order of its own."""

LIVE_INDEXERS = "live_indexers"
"""Declared as unsupported by an implementation that shares its mapping of index functions with its callers."""

MAY_EVICT = "may_evict"
"""Declared by an implementation that may drop objects by itself: what is gone does not come back without a write."""

CONCURRENT_WRITES = "concurrent_writes"
"""Declared as unsupported by an implementation that only one thread writes to."""

_FEATURES = frozenset(
    {
        *(IDENTITY, DEFAULT, INDEXES, FAILING_FUNCTIONS, FAILING_KEY_FUNCTIONS, UNKNOWN_INDEX, NONE_VALUES),
        *(LISTS, LIVE_RESULTS, KEPT_ARGUMENTS, SORTED_KEYS, LIVE_INDEXERS, CONCURRENT_WRITES, MAY_EVICT),
        *("falsy_objects", "equal_objects", "empty_keys", "empty_values", "multiple_values"),
    }
)
"""What can be declared besides operations; programs are spared it, see :mod:`.restrictions`."""


@dataclass(frozen=True)
class Target:
    """A factory with its name and its declarations.

    Attributes:
        name: how reports call it.
        factory: makes a new, empty Indexer.
        unsupported: operations and features that it does not offer; they are not tested.
        is_strict: whether it is asked for more than client-go promises, by callers who change stored objects in place,
            or the mappings of index functions that they gave or got.
    """

    name: str
    factory: Factory
    unsupported: frozenset[str] = field(default_factory=frozenset)
    is_strict: bool = False

    @property
    def asks_order(self) -> bool:
        """Whether keys must be sorted."""
        return self.is_strict and SORTED_KEYS not in self.unsupported

    @property
    def may_evict(self) -> bool:
        """Whether stored objects may be gone at any moment."""
        return MAY_EVICT in self.unsupported

    @property
    def shares_nothing(self) -> bool:
        """Whether the mappings of index functions that callers gave or got are theirs."""
        return self.is_strict and LIVE_INDEXERS not in self.unsupported

    def supports(self, operation: OperationName) -> bool:
        """Whether the operation is to be tested."""
        return operation.value not in self.unsupported

    def observable(self, indexes: Iterable[str]) -> tuple[str, ...] | None:
        """The indices that can be read back whole; ``None`` if not even the objects can be."""
        if not all(self.supports(name) for name in _CONTENT):
            return None
        return tuple(indexes) if all(self.supports(name) for name in _LOOKUPS) else ()

    def create(self, key_func: Callable[[Any], str], indexers: Any, semantics: Semantics) -> Indexer[Any]:
        """A new Indexer.

        Raises:
            TargetError: the factory raised.
        """
        try:
            if _takes_semantics(self.factory):
                return self.factory(key_func, indexers, semantics=semantics.value)
            return self.factory(key_func, indexers)
        except (Exception, SystemExit) as error:
            raise TargetError(
                f"{self.name}(key_func, indexers) raised {error_text(error)}; it must return a new, empty Indexer"
                + class_hint(self.factory, self.name)
            ) from error


def make_target(factory: Factory, name: str | None = None, unsupported: Iterable[str] | None = None) -> Target:
    """A target from a factory; declarations come from ``unsupported`` or the factory's ``kcache_unsupported``.

    Raises:
        TargetError: the factory cannot be called with a key function and indexers, or a declaration is unknown.
    """
    if not callable(factory):
        raise TargetError(
            f"the target is a {type(factory).__name__}; it must be a function (key_func, indexers) -> Indexer"
        )
    _require_signature(factory, name)
    declared = getattr(factory, "kcache_unsupported", ()) if unsupported is None else unsupported
    if isinstance(declared, str):
        raise TargetError(f'kcache_unsupported must be a list of names, not the text "{declared}"')
    return Target(name or str(getattr(factory, "__qualname__", repr(factory))), factory, all_declared(declared))


def all_declared(declared: Iterable[str]) -> frozenset[str]:
    """Declarations, and what follows from them.

    Raises:
        TargetError: one is unknown.
    """
    names = set(declared)
    known = _FEATURES | {operation.value for operation in OperationName}
    if names - known:
        unknown = ", ".join(sorted(map(str, names - known)))
        raise TargetError(f"kcache_unsupported names {unknown}; known are: {', '.join(sorted(known))}")
    if INDEXES in names:
        names |= {operation.value for operation in INDEX_OPERATIONS}
    if names & {IDENTITY, OperationName.GET_BY_KEY.value, MAY_EVICT}:
        names.add(OperationName.MUTATE.value)  # nobody outside can get at the stored object, or it may be gone
    return frozenset(names)


def class_hint(factory: object, name: str | None) -> str:
    """Advice for whoever means a class that is no Indexer; empty for a function."""
    if not isinstance(factory, type):
        return ""
    named = "..."
    with contextlib.suppress(TypeError, ValueError):  # parts in C tell no signature
        given = inspect.signature(factory).parameters.values()
        named = ", ".join(f"{one.name}=..." for one in given if one.default is one.empty)
    return f". To check it as a class of any kind, say with which arguments: '{name}({named})'"


def _require_signature(factory: Factory, name: str | None) -> None:
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(None, None)
    except TypeError:
        raise TargetError(
            f"the factory takes {signature}; it is called as factory(key_func, indexers) and must return an Indexer"
            + (f" (`kcache init {name}` writes one for a class of another shape)" if isinstance(factory, type) else "")
            + class_hint(factory, name)
        ) from None


@functools.cache
def _takes_semantics(factory: Factory) -> bool:
    try:
        return "semantics" in inspect.signature(factory).parameters
    except (TypeError, ValueError):
        return False
