"""Call plans for caches of any shape: for each operation of an Indexer, the cache's method and its parameters.

:func:`planned` infers the plan from names and parameters. :mod:`kcache.adapting` calls the methods.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, TypedDict, cast

Operation: TypeAlias = str | Callable[..., Any] | tuple[str | Callable[..., Any], str]
"""A method's name, or a function ``(cache, ...)``; or a pair of either and ``"object"``, ``"key"`` or ``"key_value"``,
which describes its parameters or the items that it returns."""

OBJECT, KEY, KEY_VALUE = TAKES = ("object", "key", "key_value")
SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = {
    "add": ("put", "set", "insert", "upsert", "store", "__setitem__"),
    "update": (),
    "delete": ("remove", "discard", "pop", "evict", "__delitem__"),
    "get_by_key": ("get", "find", "lookup", "fetch", "load", "__getitem__"),
    "get": (),
    "list": ("values", "all", "get_all", "list_all", "objects", "items", "__iter__"),
    "list_keys": ("keys", "__iter__"),
    "replace": ("replace_all",),
    "by_index": ("get_by_index", "find_by_index", "lookup_index"),
    "index_keys": ("keys_by_index", "get_index_keys"),
    **dict.fromkeys(("index", "list_index_func_values", "get_indexers", "add_indexers"), ()),
    **dict.fromkeys(("resync", "transaction", "bookmark", "last_sync_resource_version"), ()),
}
"""Operation -> other usual names of its method. The order counts: the methods of ``add`` and ``get_by_key`` decide how
later operations are planned."""
LOOKUPS: Final = {"by_index": 2, "index_keys": 2, "index": 2, "list_index_func_values": 1}
OTHER_INDEX_OPERATIONS: Final = {"get_indexers": 0, "add_indexers": 1}
_ARITY: Final = {**LOOKUPS, **OTHER_INDEX_OPERATIONS, "resync": 0, "bookmark": 1, "last_sync_resource_version": 0}
_COLLECTIONS: Final = {"other", "others", "mapping", "items", "entries", "objects", "objs", "iterable", "data"}
_OBJECTS: Final = {"obj", "object", "item", "value", "entry", "element", "resource", "manifest", "thing"}
_KEYS: Final = {"k", "id", "uid", "name"}
_PLAIN: Final = (str, int, "str", "int")
_NEVER: Final = 99
"""A number of required arguments that no operation has: for methods with required keyword-only parameters, because
adapters pass arguments by position only."""
_VARIABLE: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Operations(TypedDict, total=False):
    """The operations that :func:`kcache.adapting.adapt` takes. Functions get the arguments of the Indexer's methods."""

    add: Operation
    update: Operation
    delete: Operation
    get: Operation
    get_by_key: Operation
    list: Operation
    list_keys: Operation
    replace: Operation
    by_index: Operation
    index_keys: Operation
    index: Operation
    list_index_func_values: Operation
    get_indexers: Operation
    add_indexers: Operation
    resync: Operation
    transaction: Operation
    bookmark: Operation
    last_sync_resource_version: Operation


@dataclass(frozen=True)
class Call:
    """The method or function that performs an operation, and its parameters.

    Attributes:
        source: the name of a method, or a function ``(cache, ...)``.
        takes: the kind of its parameters, or of the items that it returns: one of ``TAKES``, or empty.
        has_more: whether it needs another, last argument: a default, or a resource version.
    """

    source: str | Callable[..., Any]
    takes: str = ""
    has_more: bool = False

    def of(self, cache: Any) -> Callable[..., Any]:
        """Return the callable for a cache.

        Raises:
            AttributeError: the cache has no such method.
        """
        if isinstance(self.source, str):
            return cast("Callable[..., Any]", getattr(cache, self.source))
        return functools.partial(self.source, cache)


@dataclass(frozen=True)
class Wishes:
    """The user's arguments of ``adapt``; ``importer`` is the user's ``__import__``, which the explorer controls."""

    calls: Mapping[str, Call]
    unsupported: frozenset[str]
    pairs: bool | None
    missing: type[Exception] | tuple[type[Exception], ...]
    importer: Callable[[str], Any]


def planned(cache: Any, wishes: Wishes) -> dict[str, Call]:
    """Return the call of each operation that the cache supports.

    Raises:
        TypeError: a method does not exist or does not fit, or no method adds objects; the message says what to do.
    """
    plan: dict[str, Call] = {}
    spared = {*wishes.unsupported, *((*LOOKUPS, *OTHER_INDEX_OPERATIONS) if "indexes" in wishes.unsupported else ())}
    for operation in [name for name in SYNONYMS if name not in spared]:
        if operation in wishes.calls:
            plan[operation] = _checked(cache, operation, wishes.calls[operation], plan)
        else:
            calls = (_fitting(cache, operation, Call(name), plan) for name in _candidates(operation))
            call = next(filter(None, calls), None)
            if call is not None and not (operation == "get" and call.takes == KEY):  # that is get_by_key
                plan[operation] = call
    serves = [("add", "update", None), ("update", "add", None), ("get", "get_by_key", None)]
    for operation, other, takes in (*serves, ("list_keys", "list", None), ("index_keys", "by_index", OBJECT)):
        if operation not in plan and operation not in spared and other in plan:
            plan[operation] = replace(plan[other], takes=takes or plan[other].takes)
    if "add" not in plan and "add" not in spared:
        raise TypeError(
            f"{name_of(type(cache))} has no known method for adding objects; name its method: adapt(..., add=...)"
        )
    if "list" in plan and plan["list"].takes == KEY and "get_by_key" not in plan:
        raise TypeError("list takes keys, so a get_by_key is needed; name its method: adapt(..., get_by_key=...)")
    return plan


def other_names(cache: Any, operations: Iterable[str]) -> list[str]:
    """Return the cache's methods whose names are synonyms of these operations."""
    names = (name for operation in operations for name in _candidates(operation) if name != operation)
    return list(dict.fromkeys(name for name in names if not name.startswith("_") and callable(getattr(cache, name, 0))))


def _candidates(operation: str) -> Iterator[str]:
    for name in (operation, *SYNONYMS[operation]):
        yield from names_of(name)


def names_of(name: str) -> tuple[str, ...]:
    """Return the spellings of a name: ``get_by_key``, ``getByKey`` and ``GetByKey``."""
    first, *others = [name] if name.startswith("_") else name.split("_")
    rest = "".join(map(str.capitalize, others))
    return tuple(dict.fromkeys((name, first + rest, first.capitalize() + rest)))


def maker_of(make: Callable[..., Any]) -> Callable[[Mapping[str, Any]], Any]:
    """Return a function that calls ``make`` with those arguments of a factory that the parameters of ``make`` name.

    Raises:
        TypeError: ``make`` is not callable, or has required parameters that kcache cannot supply.
    """
    if not callable(make):
        raise TypeError(f"adapt takes a class, or a function that creates a cache, not {make!r:.80}")
    try:
        signature = inspect.signature(make)
    except (TypeError, ValueError):
        return lambda _: make()  # written in C: its caches take no Python functions
    parameters = [one for one in signature.parameters.values() if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    required = [one for one in parameters if one.default is one.empty]
    placed = [one for one in required if one.kind is not one.KEYWORD_ONLY]
    if all(_role(one.name) for one in required):
        by_place = [_role(one.name) for one in placed if one.kind is one.POSITIONAL_ONLY]
        by_name = {one.name: _role(one.name) for one in parameters if one.kind is not one.POSITIONAL_ONLY}
        named = {name: role for name, role in by_name.items() if role}
        return lambda own: make(*(own[role] for role in by_place), **{name: own[named[name]] for name in named})
    if isinstance(make, type) or len(required) > 2 or len(placed) < len(required):
        strange = ", ".join(one.name for one in required if not _role(one.name))
        raise TypeError(
            f"{name_of(make)}{signature} needs {strange}; write a function that creates a cache: "
            f"adapt(lambda key_func, indexers: {name_of(make)}(...))"
        )
    return lambda values: make(*(values["key_func"], values["indexers"])[: len(required)])


def _role(parameter: str) -> str:
    """Return the factory argument that a parameter's name stands for; empty if none."""
    name = parameter.lower().replace("_", "")
    if name in ("indexers", "indexes", "indices", "indexfuncs", "indexfunctions"):
        return "indexers"
    is_key_func = name in ("key", "getkey", "keyof") or name in ("keyfunc", "keyfunction", "keyfn", "keygetter")
    return "key_func" if is_key_func else "semantics" if name == "semantics" else ""


def name_of(thing: Any) -> str:
    """Return the qualified name of a function or class; its ``repr`` if it has none."""
    return str(getattr(thing, "__qualname__", None) or repr(thing))


def call_of(operation: str, argument: Operation) -> Call:
    """Return the call that the user's argument describes.

    Raises:
        TypeError: the argument describes no call; the message lists the possible values.
    """
    source, takes = argument if isinstance(argument, tuple) and len(argument) == 2 else (argument, "")
    if not (isinstance(source, str) or callable(source)) or takes not in ("", *TAKES):
        raise TypeError(
            f"{operation}={argument!r}: write the name of a method, a function (cache, ...), or a pair of either and "
            f"one of {', '.join(TAKES)}"
        )
    return Call(source, takes)


def _checked(cache: Any, operation: str, call: Call, plan: Mapping[str, Call]) -> Call:
    of, source = name_of(type(cache)), call.source
    if isinstance(source, str) and not callable(getattr(cache, source, None)):
        has = ", ".join(name for name in dir(cache) if not name.startswith("_"))
        raise TypeError(f"{of} has no method {source} for {operation}; it has: {has}")
    fitting = _fitting(cache, operation, call, plan if isinstance(source, str) else {})
    if call.takes:
        return replace(fitting or call, takes=call.takes)
    if fitting is None:
        raise TypeError(
            f"the parameters of {source if isinstance(source, str) else name_of(source)} do not show what {operation} "
            f"of {of} takes; write {operation}=(..., {' or '.join(map(repr, TAKES))}), or pass a function (cache, ...)"
        )
    return fitting


@dataclass(frozen=True)
class _Parameters:
    """The parameters of a function; names are in lower case, without underscores at their ends.

    Attributes:
        placed: names of the parameters that can be passed by position.
        required: the number of arguments that have to be passed.
        is_open: whether it takes ``*args``.
        is_plain: whether the first parameter is annotated as ``str`` or ``int``, as keys are.
    """

    placed: tuple[str, ...]
    required: int
    is_open: bool
    is_plain: bool

    def bind(self, number: int) -> bool:
        """Whether it can be called with this many positional arguments."""
        return self.required <= number and (self.is_open or number <= len(self.placed))

    @property
    def first(self) -> str:
        """The name of the first parameter; empty if there is none."""
        return next(iter(self.placed), "")

    @property
    def second(self) -> str:
        """The name of the second parameter; empty if there is none."""
        return (*self.placed, "", "")[1]


def _parameters(function: Callable[..., Any]) -> _Parameters | None:
    """Return the parameters of a function; ``None`` if it has no signature, as some functions written in C."""
    try:
        parameters = [*inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        return None
    placed = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    required = [one for one in parameters if one.default is one.empty and one.kind not in _VARIABLE]
    is_open = any(one.kind is one.VAR_POSITIONAL for one in parameters)
    named = any(one.kind is one.KEYWORD_ONLY for one in required)
    names = tuple(one.name.strip("_").lower() for one in placed)
    is_plain = bool(placed) and placed[0].annotation in _PLAIN
    return _Parameters(names, _NEVER if named else len(required), is_open, is_plain)


def _is_key(name: str) -> bool:
    return name in _KEYS or name.endswith(("key", "_id"))


def _fitting(cache: Any, operation: str, call: Call, plan: Mapping[str, Call]) -> Call | None:
    """Return the call with the kind of its parameters, inferred from their names; ``None`` if it does not fit."""
    function = getattr(cache, call.source, None) if isinstance(call.source, str) else call.of(cache)
    if not callable(function):
        return None
    has = _parameters(function)
    name = call.source if isinstance(call.source, str) else ""
    keyed = "add" in plan and plan["add"].takes == KEY_VALUE
    if operation in ("add", "update"):
        takes = _taken_by_write(operation, name, has)
    elif operation == "delete":
        takes = _taken_by_delete(name, has, keyed, "add" in plan and _adds_plain_objects(cache, plan["add"]))
    elif operation in ("get", "get_by_key"):
        takes = _taken_by_lookup(operation, name, has, _has_own_lookup(plan), keyed)
    elif operation in ("list", "list_keys"):
        takes = _given_by_list(operation, name, has, _is_mapping(cache))
    elif operation == "replace":
        fits = not name or (has is not None and (has.bind(1) or has.bind(2)) and not _is_key(has.first))
        takes = (KEY_VALUE if keyed else OBJECT) if fits else None
    elif operation == "transaction":
        takes = "" if not name or (has is not None and has.is_open and not has.required) else None
    else:
        takes = "" if not name or has is None or has.bind(_ARITY[operation]) else None
    more = operation in ("get", "get_by_key") or (has is not None and _is_version(has.second))
    has_more = has is not None and more and (has.required == 2 or (operation == "replace" and has.bind(2)))
    return None if takes is None else replace(call, takes=takes, has_more=has_more)


def _is_mapping(cache: Any) -> bool:
    return hasattr(cache, "__getitem__") or callable(getattr(cache, "keys", None))


def _has_own_lookup(plan: Mapping[str, Call]) -> bool:
    return "get_by_key" in plan and plan["get_by_key"].source not in names_of("get")


def _is_version(name: str) -> bool:
    return name == "rv" or "version" in name


def _taken_by_write(operation: str, name: str, has: _Parameters | None) -> str | None:
    if has is None or not has.placed:
        takes = KEY_VALUE if name in ("put", "set", "__setitem__") else OBJECT
        return takes if (has is None or has.is_open) and not (name and operation == "update") else None
    if has.first in _COLLECTIONS:
        return None
    if has.required == 2 or (_is_key(has.first) and has.bind(2)):
        return KEY_VALUE if has.first not in _OBJECTS else None
    return OBJECT if has.bind(1) and not _is_key(has.first) else None


def _adds_plain_objects(cache: Any, add: Call) -> bool:
    """Whether the objects themselves are texts or numbers: then a parameter with that annotation need not be a key."""
    has = _parameters(add.of(cache)) if add.takes == OBJECT else None
    return has is not None and has.is_plain


def _taken_by_delete(name: str, has: _Parameters | None, keyed: bool, are_plain: bool) -> str | None:
    if has is not None and has.required == 2:
        return KEY_VALUE if has.first not in _OBJECTS else None
    if has is not None and not has.bind(1):
        return None
    if has is not None and (_is_key(has.first) or (has.is_plain and not are_plain and has.first not in _OBJECTS)):
        return KEY
    is_object = has is not None and has.first in _OBJECTS - {"item", "value"} and not name.startswith("__")
    return KEY if not is_object and (keyed or name in ("pop", "__delitem__")) else OBJECT


def _taken_by_lookup(operation: str, name: str, has: _Parameters | None, by_key: bool, keyed: bool) -> str | None:
    if has is not None and not (has.bind(1) or (has.bind(2) and has.second.startswith("default"))):
        return None
    first = "" if has is None else has.first
    if operation == "get":
        if _is_key(first) or (keyed and name and first not in _OBJECTS):  # objects are added under keys
            return KEY
        return OBJECT if first in _OBJECTS or by_key or not name else None
    if _is_key(first) or not name or name in names_of("get_by_key") or name.startswith("__"):
        return KEY
    return KEY if name in names_of("get") and first not in _OBJECTS else None


def _given_by_list(operation: str, name: str, has: _Parameters | None, is_mapping: bool) -> str | None:
    if has is not None and not has.bind(0):
        return None
    if operation == "list_keys":
        return KEY if name != "__iter__" or is_mapping else None
    if name == "__iter__" and is_mapping:  # yields keys: a lookup of each key is not atomic
        return None
    return KEY_VALUE if name in names_of("items") and is_mapping else OBJECT
