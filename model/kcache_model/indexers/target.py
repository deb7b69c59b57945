"""The implementation under test: a factory, and its declarations of unsupported operations and features."""

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
from .operations import INDEX_OPERATIONS, Operation, OperationName

Factory: TypeAlias = Callable[..., Indexer[Any]]
"""``factory(key_func, indexers) -> Indexer``. If it takes a keyword ``semantics``, the value ``"classic"`` or
``"current"`` is passed."""

IDENTITY = "identity"
"""Declared as unsupported by an implementation that returns copies of the stored objects."""

DEFAULT = "default"
"""Declared as unsupported by an implementation whose ``get`` and ``get_by_key`` take no default."""

FAILING_FUNCTIONS = "failing_functions"
"""Declared as unsupported by an implementation that does not specify its behaviour if an index function fails."""

INDEXES = "indexes"
"""Declared as unsupported by a plain Store; implies every operation on indices."""

_CONTENT = (OperationName.LIST, OperationName.LIST_KEYS, OperationName.GET_BY_KEY)
_LOOKUPS = (OperationName.LIST_INDEX_FUNC_VALUES, OperationName.INDEX_KEYS, OperationName.BY_INDEX)

FAILING_KEY_FUNCTIONS = "failing_key_functions"
"""Declared as unsupported by an implementation that does not specify its behaviour if the key function fails."""

UNKNOWN_INDEX = "unknown_index"
"""Declared as unsupported by an implementation that does not specify lookups in an index that does not exist."""

NONE_VALUES = "none_values"
"""Declared as unsupported by an implementation whose index functions must return lists."""

LIVE_RESULTS = "live_results"
"""Declared as unsupported by an implementation whose callers must not change the results that it returned."""

KEPT_ARGUMENTS = "kept_arguments"
"""Declared as unsupported by an implementation whose callers must not change the list passed to ``replace``."""

LISTS = "lists"
"""Declared as unsupported by an implementation that returns sets, views or generators instead of lists."""

SORTED_KEYS = "sorted_keys"
"""Declared as unsupported by an implementation whose ``index_keys`` does not return keys in sorted order."""

LIVE_INDEXERS = "live_indexers"
"""Declared as unsupported by an implementation that shares its mapping of index functions with its callers."""

MAY_EVICT = "may_evict"
"""Declared by an implementation that may drop objects by itself; a dropped object comes back only with a write."""

CONCURRENT_WRITES = "concurrent_writes"
"""Declared as unsupported by an implementation that only one thread may write to."""

_FEATURES = frozenset(
    {
        *(IDENTITY, DEFAULT, INDEXES, FAILING_FUNCTIONS, FAILING_KEY_FUNCTIONS, UNKNOWN_INDEX, NONE_VALUES),
        *(LISTS, LIVE_RESULTS, KEPT_ARGUMENTS, SORTED_KEYS, LIVE_INDEXERS, CONCURRENT_WRITES, MAY_EVICT),
        *("falsy_objects", "equal_objects", "empty_keys", "empty_values", "multiple_values"),
    }
)
"""All features that can be declared besides operations; see :mod:`.restrictions` for the effect on programs."""


@dataclass(frozen=True)
class Target:
    """A factory with its name and its declarations.

    Attributes:
        name: its name in reports.
        factory: creates a new, empty Indexer.
        unsupported: operations and features that it does not support; they are not tested.
        is_strict: whether it is tested for more than client-go promises: by callers who change stored objects in
            place, or change the mappings of index functions that they passed or received.
        semantics: the generation of client-go that defines the correct results.
    """

    name: str
    factory: Factory
    unsupported: frozenset[str] = field(default_factory=frozenset)
    is_strict: bool = False
    semantics: Semantics = Semantics.CLASSIC

    @property
    def asks_order(self) -> bool:
        """Whether ``index_keys`` must return sorted keys."""
        return self.is_strict and SORTED_KEYS not in self.unsupported

    @property
    def may_evict(self) -> bool:
        """Whether stored objects may be dropped at any moment."""
        return MAY_EVICT in self.unsupported

    @property
    def shares_nothing(self) -> bool:
        """Whether callers own, and may change, the mappings of index functions that they passed or received."""
        return self.is_strict and LIVE_INDEXERS not in self.unsupported

    def supports(self, operation: OperationName) -> bool:
        """Whether the operation is to be tested."""
        return operation.value not in self.unsupported

    def allows_call(self, operation: Operation) -> bool:
        """Whether the operation of a call is to be tested."""
        return self.supports(operation.name)

    def observable(self, indexes: Iterable[str]) -> tuple[str, ...] | None:
        """The indices that can be read back completely; ``None`` if not even the objects can be read back."""
        if not all(self.supports(name) for name in _CONTENT):
            return None
        return tuple(indexes) if all(self.supports(name) for name in _LOOKUPS) else ()

    def create(self, key_func: Callable[[Any], str], indexers: Any, semantics: Semantics) -> Indexer[Any]:
        """Create an Indexer.

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
    """Create a target; its declarations are ``unsupported`` or, by default, the factory's ``kcache_unsupported``.

    Raises:
        TargetError: the factory cannot be called with a key function and indexers, or a declaration is unknown, or the
            declarations are one text instead of a list.
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
    """Return the declarations and the declarations that they imply.

    Raises:
        TargetError: a declaration is unknown.
    """
    names = set(declared)
    known = _FEATURES | {operation.value for operation in OperationName}
    if names - known:
        unknown = ", ".join(sorted(map(str, names - known)))
        raise TargetError(f"kcache_unsupported names {unknown}; known are: {', '.join(sorted(known))}")
    if INDEXES in names:
        names |= {operation.value for operation in INDEX_OPERATIONS}
    if names & {IDENTITY, OperationName.GET_BY_KEY.value, MAY_EVICT}:
        names.add(OperationName.MUTATE.value)  # the test cannot reach the stored object, or it may be dropped
    return frozenset(names)


def class_hint(factory: object, name: str | None) -> str:
    """Advice for a user who wants to check objects of a class that is no Indexer; empty for a factory of Indexers."""
    names = ["..."]
    with contextlib.suppress(TypeError, ValueError):  # callables written in C may have no signature
        parameters = inspect.signature(factory).parameters.values()  # type: ignore[arg-type]
        names = [f"{one.name}=..." for one in parameters if one.default is one.empty]
    if isinstance(factory, type):
        what = "it as a class of any kind"
    elif not names or any("key" in each for each in names):
        return ""
    else:
        what = "the objects that it returns"
    return f". To check {what}, write its arguments: '{name}({', '.join(names)})'"


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
