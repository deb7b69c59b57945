"""Adapters for caches whose methods differ from client-go's: they call such caches through an Indexer's methods.

from kcache.adapting import adapt          # kcache.testing exports it as well, but imports the whole harness

new_indexer = adapt(MyCache)               # kcache check mypackage.cache:new_indexer

An adapter has no lock of its own. Each of its operations is one call of the cache. An operation that needs several
calls, between which other threads can act, is declared as unsupported unless the user names it.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, MappingView, Set
from typing import Any, Final, Unpack, cast

from .adapting_calls import (
    KEY,
    KEY_VALUE,
    LOOKUPS,
    OBJECT,
    OTHER_INDEX_OPERATIONS,
    SYNONYMS,
    Call,
    Operation,
    Operations,
    Wishes,
    call_of,
    maker_of,
    name_of,
    planned,
)
from .adapting_loop import AdapterLoop, collected, settled
from .interfaces import Indexer, Indexers, KeyFunc

_MISSING_KEY: Final = "no such key"
_VIEWS: Final = frozenset({"values", "keys", "items", "__iter__"})
"""Methods of mappings that return live views by definition."""
_HARNESS: Final = frozenset({"kcache", "kcache_model", "kcache_stress", "kcache_conformance", "__main__"})


def adapt(
    make: Callable[..., Any],
    *,
    unsupported: Iterable[str] = (),
    pairs: bool | None = None,
    missing: type[Exception] | tuple[type[Exception], ...] = KeyError,
    tombstone: Callable[[str, Any], Any] | None = None,
    **operations: Unpack[Operations],
) -> AdaptedFactory:
    """Return a factory ``new_indexer(key_func, indexers)`` of caches that are called as if they were Indexers.

    If an operation is not an argument, its method is searched for: first under the name of the operation
    (``get_by_key``, ``getByKey``, ``GetByKey``), then under synonyms (``put``, ``set``, ``__setitem__``, ``pop``,
    ``values`` ...). The names of a method's parameters show whether it takes an object, a key, or both. If the names
    do not show it, write ``add=("put", "key_value")``. For ``list``, ``list_keys`` and ``replace``, the second item
    describes the items of the collection. With ``list=("keys", "key")``, each key is looked up, one after another.

    Awaitable results are awaited in an event loop. Each adapter has its own loop, in its own thread, until ``close``.
    If any method of a cache is ``async def``, all its methods run in the loop, and their results are read there.

    Args:
        make: the class of the caches, or a function that creates a cache. It receives the key function and the index
            functions if its parameters have such names, or if it is a function of one or two parameters.
        unsupported: names for ``kcache_unsupported``, in addition to the operations that the cache lacks. Operations
            among them are not searched for.
        pairs: whether lookups by key return ``(value, exists)``; by default, a lookup of a missing key decides.
        missing: the errors that lookups and deletions raise if the key does not exist. A plain KeyError counts if its
            argument is the key.
        tombstone: every second deletion receives ``tombstone(key, obj)`` in place of the object; by default the
            attribute ``kcache_tombstone`` of ``make``.
        operations: ``add``, ``update``, ``delete``, ``get``, ``get_by_key``, ``list``, ``list_keys``, ``replace``,
            ``by_index``, ``index_keys``, ``index``, ``list_index_func_values``, ``get_indexers``, ``add_indexers``,
            ``resync``, ``transaction``, ``bookmark``, ``last_sync_resource_version``. Each is the name of a method; or
            a pair of a name and ``"object"``, ``"key"`` or ``"key_value"``, the method's parameters; or a function
            ``(cache, ...)`` with the arguments of the Indexer's method. If the cache has only one of ``add`` and
            ``update``, it serves as both.

    Returns:
        The factory; bind it to a name of your module, so that kcache can load it as ``module:name``.

    Raises:
        TypeError: an argument cannot be used; the message says what to do. Methods are looked up when the first cache
            is created, so an error in their names is raised then.
    """
    if isinstance(unsupported, str):
        raise TypeError(f'unsupported must be a list of names, not the text "{unsupported}"')
    unknown = [name for name in operations if name not in SYNONYMS]
    if unknown:
        raise TypeError(f"unknown operation {', '.join(unknown)}; known are: {', '.join(SYNONYMS)}")
    calls = {name: call_of(name, cast("Operation", operation)) for name, operation in operations.items()}
    caller = sys._getframe(1)
    wishes = Wishes(calls, frozenset(unsupported), pairs, missing, caller.f_builtins["__import__"])
    return AdaptedFactory(make, wishes, tombstone, caller.f_globals)


class AdaptedFactory:
    """The result of :func:`adapt`: ``factory(key_func, indexers) -> Indexer``, with the declarations of a target.

    Attributes:
        kcache_unsupported: names of the features that are not tested. The list is computed at the first access; you
            may change it.
        kcache_instrument: the package of the class, which the explorer instruments.
        kcache_tombstone: ``(key, obj)`` -> the argument of every second deletion, or ``None``.
    """

    kcache_unsupported: list[str]

    def __init__(self, make: Callable[..., Any], wishes: Wishes, tombstone: Any, namespace: dict[str, Any]) -> None:
        self._make, self._called = make, maker_of(make)
        self._wishes, self._namespace = wishes, namespace
        self._classes: dict[type, type[_Adapted]] = {}
        self.__module__ = namespace.get("__name__", "__main__")
        self.__doc__ = f"``{name_of(make)}`` as an Indexer."
        self.kcache_instrument = packages_of(make, self.__module__)
        self.kcache_tombstone = getattr(make, "kcache_tombstone", None) if tombstone is None else tombstone

    def __call__(self, key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
        """Return a new cache as an Indexer.

        Raises:
            TypeError: a named method does not exist, no method is known to add objects, or there is a tombstone but
                the cache deletes by key.
            Exception: any error that ``make`` raises.
        """
        cache, loop = self._called({"key_func": key_func, "indexers": indexers, "semantics": semantics}), None
        if inspect.isawaitable(cache):
            loop = AdapterLoop(self._wishes.importer)
            cache = loop.run(cache)
        kind = self._classes.get(type(cache))
        if kind is None:
            kind, loop = _class_for(cache, loop, self._wishes)
            self._classes[type(cache)] = kind
        if self.kcache_tombstone is not None and "delete" in kind.plan and kind.plan["delete"].takes == KEY:
            raise TypeError(
                f"{kind.__qualname__} deletes by key: leave out tombstone, or name a method that takes objects"
            )
        return cast("Indexer[Any]", kind(cache, key_func, self.kcache_tombstone, loop))

    def __getattr__(self, name: str) -> Any:
        # A factory is not told the name it is bound to, and a cache's missing operations are known once there is a
        # cache: both are computed at the first access.
        if name in ("__qualname__", "__name__"):
            names = (called for called, value in [*self._namespace.items()] if value is self)
            return next(names, f"<adapted {name_of(self._make)}>")
        if name != "kcache_unsupported":
            raise AttributeError(f"{type(self).__name__} has no attribute {name}")
        try:
            adapted: Any = self(str, {})
        except Exception:  # the next call of the factory raises the error again, where it is reported
            return sorted(self._wishes.unsupported)
        self.kcache_unsupported = sorted(self._wishes.unsupported | adapted.lacking)
        adapted.close()
        return self.kcache_unsupported

    def __repr__(self) -> str:
        return f"adapt({name_of(self._make)})"


async def _run_to_its_end(function: Callable[..., Any], arguments: tuple[Any, ...], *, is_kept: bool) -> Any:
    result = function(*arguments)
    if hasattr(type(result), "__aiter__"):
        return await collected(result)
    result = await result if inspect.isawaitable(result) else result
    if is_kept:
        return result
    if isinstance(result, Mapping):
        return {**result}
    return list(cast("Any", result)) if isinstance(result, (MappingView, Iterator)) else result


class _Adapted:
    """A cache behind an Indexer's methods. Each class of caches gets its own subclass with the methods it supports.

    Facts that all adapters of a class share are class attributes: the explorer treats instance attributes as shared
    state.
    """

    plan: Mapping[str, Call]
    wishes: Wishes
    lacking: frozenset[str]
    pairs: bool
    is_async: bool

    def __init__(self, cache: Any, key_func: KeyFunc[Any], tombstone: Any, loop: AdapterLoop | None) -> None:
        self._cache, self._key_func, self._tombstone = cache, key_func, tombstone
        self._deletions = itertools.count()
        if loop is None and self.is_async:
            loop = AdapterLoop(self.wishes.importer)
        self._loops = {} if loop is None else {0: loop}

    def close(self) -> None:
        """Close the cache, if it can be closed, and the event loop."""
        close = getattr(self._cache, "close", None) or getattr(self._cache, "aclose", None)
        try:
            if callable(close):
                self._settled(close())
        finally:
            for loop in self._loops.values():
                loop.close()

    def kcache_later(self, operation: str, *arguments: Any) -> Callable[[], Any] | None:
        """Call an operation now, and return a function that reads its result later.

        If the result has changed by then, it is a live view of the cache. Returns ``None`` if the check says nothing:
        the views of a mapping are live by definition, and a list belongs to the caller.
        """
        call = self.plan[operation]
        if call.source in _VIEWS or (operation == "list" and call.takes == KEY):
            return None
        result = self._call(operation, *arguments, is_kept=True)
        return None if isinstance(result, list) else lambda: self._read(operation, result)

    def _call(self, operation: str, *arguments: Any, is_kept: bool = False) -> Any:
        function = self.plan[operation].of(self._cache)
        if self.is_async:  # plain methods run in the loop, too: they rely on nothing else running there meanwhile
            return self._settled(_run_to_its_end(function, arguments, is_kept=is_kept or operation.startswith("get")))
        return self._settled(function(*arguments))

    def _read(self, operation: str, result: Any) -> Any:
        """Convert the result of a cache's method into the result of the Indexer's operation, usually a list."""
        takes = self.plan[operation].takes
        if takes == KEY_VALUE and operation in ("list", "list_keys"):
            return [pair[operation == "list"] for pair in _pairs(result)]
        if takes == KEY and operation == "list":
            objects = (self._stored("get_by_key", key, None) for key in result)
            return [obj for obj in objects if obj is not None]
        if takes == OBJECT and operation in ("list_keys", "index_keys"):
            keys = [self._key_func(obj) for obj in result]
            return sorted(keys) if operation == "index_keys" else keys
        return sorted(result) if operation == "index_keys" and isinstance(result, Set) else _listed(result)

    def _settled(self, result: Any) -> Any:
        return settled(result, self._loops, self.wishes.importer)

    def _write(self, operation: str, obj: Any, key: Any, argument: Any) -> None:
        takes = self.plan[operation].takes
        key = self._key_func(obj) if key is None and takes != OBJECT else key
        self._call(operation, *{OBJECT: (argument,), KEY: (key,), KEY_VALUE: (key, argument)}[takes])

    def _stored(self, operation: str, argument: Any, default: Any) -> Any:
        call = self.plan[operation]
        try:
            result = self._call(operation, argument, *(None,) * call.has_more)
        except self.wishes.missing as error:
            if not _says_missing(error, argument if call.takes == KEY else self._key_func(argument)):
                raise
            return default
        if self.pairs:
            result, exists = result
            return result if exists else default
        return default if result is None else result


class _Methods(_Adapted):
    """The methods of an Indexer that do more than call the cache and convert the result."""

    def add(self, obj: Any, /) -> None:
        self._write("add", obj, None, obj)

    def update(self, obj: Any, /) -> None:
        self._write("update", obj, None, obj)

    def delete(self, obj: Any, /) -> None:
        key, argument = None, obj
        if self._tombstone is not None and next(self._deletions) % 2:
            key = self._key_func(obj)
            argument = self._tombstone(key, obj)
        try:
            self._write("delete", obj, key, argument)
        except self.wishes.missing as error:
            if not _says_missing(error, self._key_func(obj)):
                raise

    def get(self, obj: Any, default: Any = None, /) -> Any:
        argument = self._key_func(obj) if self.plan["get"].takes == KEY else obj
        return self._stored("get", argument, default)

    def get_by_key(self, key: str, default: Any = None, /) -> Any:
        return self._stored("get_by_key", key, default)

    def replace(self, objs: Iterable[Any], resource_version: str = "", /) -> None:
        call = self.plan["replace"]
        content = {self._key_func(obj): obj for obj in objs} if call.takes == KEY_VALUE else objs
        self._call("replace", content, *(resource_version,) * call.has_more)


def _passing(operation: str) -> Callable[..., Any]:
    return lambda self, *arguments: self._read(operation, self._call(operation, *arguments))


def _says_missing(error: Exception, key: Any) -> bool:
    """Whether an error is about this key; a plain KeyError with another argument comes from inside the cache."""
    return type(error) is not KeyError or error.args[:1] == (key,)


def _pairs(result: Any) -> Iterable[Any]:
    return result.items() if isinstance(result, Mapping) else cast("Iterable[Any]", result)


def _listed(result: Any) -> Any:
    """Convert any iterable but a list, a text, bytes or a mapping into a list; return others unchanged."""
    is_other = isinstance(result, Iterable) and not isinstance(result, (list, str, bytes, Mapping))
    return list(result) if is_other else result


def _class_for(cache: Any, loop: AdapterLoop | None, wishes: Wishes) -> tuple[type[_Adapted], AdapterLoop | None]:
    """Create the adapter class for a cache's class, in the cache's module: the explorer instruments that module."""
    plan = planned(cache, wishes)
    lacking = set(SYNONYMS.keys() - plan.keys())
    if not plan.keys() & LOOKUPS.keys():
        lacking = lacking - LOOKUPS.keys() - OTHER_INDEX_OPERATIONS.keys() | {"indexes"}
        plan = {name: call for name, call in plan.items() if name not in OTHER_INDEX_OPERATIONS}
    of = type(cache)
    methods = {name: vars(_Methods).get(name) or _passing(name) for name in plan}
    shared = {"plan": plan, "wishes": wishes, "lacking": frozenset(lacking), "pairs": bool(wishes.pairs)}
    functions = [call.of(cache) for call in plan.values()]
    shared["is_async"] = any(map(inspect.iscoroutinefunction, functions)) or any(
        map(inspect.isasyncgenfunction, functions)
    )
    kind: type[_Adapted] = type("Adapted", (_Adapted,), {**methods, **shared, "__module__": of.__module__})
    kind.__qualname__ = of.__qualname__  # reports name the cache
    if wishes.pairs is None and "get_by_key" in plan:
        prober = kind(cache, str, None, loop)
        try:
            result = prober._call("get_by_key", _MISSING_KEY, *(None,) * plan["get_by_key"].has_more)
        except Exception:  # a lookup of a missing key may raise
            result = None
        kind.pairs = isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], bool)
        loop = prober._loops.get(0)
    return kind, loop


def packages_of(make: Any, own: str) -> tuple[str, ...]:
    """Return the regular package that holds a class: none for the standard library, kcache, or the adapting module."""
    while isinstance(make, functools.partial):
        make = make.func
    module = getattr(make, "__module__", None) or own
    parts = module.split(".")
    if module == own or parts[0] in _HARNESS or parts[0] in sys.stdlib_module_names:
        return ()
    for package in itertools.accumulate(parts, "{}.{}".format):
        try:
            spec = importlib.util.find_spec(package)
        except (ImportError, ValueError, AttributeError):
            return ()
        if spec is None or spec.origin is not None:
            return () if spec is None else (package,)
    return ()
