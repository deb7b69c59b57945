"""Types, methods and attributes that are known, and the effects of the methods of containers."""

import array
import datetime
import itertools
import struct
from collections.abc import Callable, Iterator
from typing import Any, Final

from .rows import AttributeRow, MethodsRow, TypeRow, load, names, objects

WRITE: Final = 1
KEYED: Final = 2
"""Flag of methods that access only the entry whose key is the first argument."""
CONSUMES: Final = 4
"""Flag of methods that iterate over their arguments or compare them."""
SILENT: Final = 8
"""Flag of methods that access nothing."""
INDEXED: Final = 16
"""Flag of methods that access only the position in the first argument."""
DEFAULTS: Final = 32
"""Flag of reads that store a missing key."""
COMPARES: Final = 64
"""Flag of methods that compare the elements with each other or with the arguments, or print them."""

Methods = dict[str, int]

_EFFECTS: Final = {
    "reads": 0,
    "reads_key": KEYED,
    "reads_index": INDEXED,
    "reads_both": CONSUMES,
    "writes": WRITE,
    "writes_key": WRITE | KEYED,
    "writes_index": WRITE | INDEXED,
    "writes_from": WRITE | CONSUMES,
    "silent": SILENT,
    "reads_comparing": COMPARES,
    "writes_comparing": WRITE | COMPARES,
    "compares_both": CONSUMES | COMPARES,
    "stores_missing": KEYED | DEFAULTS,
}
"""Column of methods.toml -> effect of the methods in it."""


def _containers(rows: tuple[MethodsRow, ...]) -> dict[type, Methods]:
    effects: dict[type, Methods] = {}
    by_name: dict[str, Methods] = {"": {}}
    for row in rows:
        own = {name: effect for column, effect in _EFFECTS.items() for name in getattr(row, column).split()}
        for name, kind in zip(row.names, row.objects(), strict=True):
            effects[kind] = by_name[name] = {**by_name[row.like], **own}
    return effects


_TYPES: Final = load(TypeRow)
_ATTRIBUTES: Final = load(AttributeRow)


def _types(condition: Callable[[TypeRow], object]) -> frozenset[type]:
    return objects(row for row in _TYPES if condition(row))


def _attributes(condition: Callable[[AttributeRow], object]) -> frozenset[str]:
    return names(row for row in _ATTRIBUTES if condition(row))


CONTAINERS: Final = _containers(load(MethodsRow))
"""Type of a container -> the effects of its methods in C."""


def _method_names(flag: int) -> frozenset[str]:
    return frozenset(name for methods in CONTAINERS.values() for name, access in methods.items() if access & flag)


VIEW_NAMES: Final = _method_names(SILENT)
METHOD_NAMES: Final = frozenset(name for methods in CONTAINERS.values() for name in methods) - VIEW_NAMES
CONSUMING_NAMES: Final = _method_names(CONSUMES)
COMPARING_NAMES: Final = _method_names(COMPARES)

REFLECTIVE_READS: Final = _attributes(lambda row: row.exposes == "read")
REFLECTIVE: Final = _attributes(lambda row: row.exposes)
"""Attributes that expose internals of Python if they are stored; reading exposes only :data:`REFLECTIVE_READS`."""
UNSEEN_ATTRIBUTES: Final = _attributes(lambda row: row.unseen)
"""Attributes that expose what changes without an opcode that touches it."""
NOT_RUN_BY_C: Final = _attributes(lambda row: row.not_run_by_c)
"""Special methods that code in C never calls when it hashes, compares, converts, iterates over or prints objects."""
STORES_ALL: Final = _attributes(lambda row: row.stores_all)
"""Attributes by which any attribute can be stored."""
REACHES_GLOBALS: Final = _attributes(lambda row: row.reaches_globals)
CONSTRUCTORS: Final = _attributes(lambda row: row.constructs)
PREPARING: Final = _attributes(lambda row: row.prepares)
"""Special methods that change only an object, or a class, that is being created."""
NO_PROOF_METHODS: Final = _attributes(lambda row: row.no_proof)
"""Methods in C without a proof for executions that call them."""
ATTRIBUTE_METHODS: Final = _attributes(lambda row: row.by_name)
"""Special methods that access the attribute that their argument names."""
CONSUMING_METHODS: Final = _attributes(lambda row: row.consumes)
"""Methods that consume a generator expression at once if it is their only argument."""
LISTS_VARIABLES: Final = _attributes(lambda row: row.lists_variables)
"""Attributes of functions and their code whose values list variables, also those that the rewriting adds."""
FORMAT_NAMES: Final = _attributes(lambda row: row.formats)
CHANGED_BY_LIBRARY: Final = _attributes(lambda row: row.changes)
"""Attributes of objects of the library for threads that its methods change: it is read from outside, too."""
CLOCK_NAMES: Final = _attributes(lambda row: row.reads_clock)
"""Names of class methods of `datetime` that read the real clock."""


def reads_the_clock(owner: object, name: str) -> bool:
    """Whether `owner` is `date` or `datetime`, or a subclass, and its method `name` reads the clock."""
    return name in CLOCK_NAMES and isinstance(owner, type) and issubclass(owner, datetime.date)


PLAIN: Final = _types(lambda row: row.value == "plain")
"""Types whose values are safe as slots: hashing and comparing them runs no code of the module under test."""
IMMUTABLE: Final = _types(lambda row: row.value)
"""Types whose objects never need a report, known from the start."""
UNSEEN: Final = tuple(_types(lambda row: row.unseen))
"""Types in C that never change, whose changes no other thread can observe, or that are handled elsewhere."""
ITERABLE: Final = tuple(_types(lambda row: row.parts == "elements"))
"""Containers, except mappings, whose elements are objects."""
COMPOSED: Final = (*ITERABLE, *_types(lambda row: row.parts in ("entries", "numbers")))
WHOLE: Final = tuple(_types(lambda row: row.parts == "attributes"))
"""Types in C that print and compare all of their attributes: each object counts as one place."""
LOOKED_INTO: Final = tuple(_types(lambda row: row.parts))
SIZED: Final = tuple(_types(lambda row: row.checks_size))
"""Containers whose iterators detect a change of the container's size."""
LOUD: Final = _types(lambda row: row.needs_hook)
"""Types whose objects can need a report when they are operands."""
CALLABLES: Final = _types(lambda row: row.calls_python)
"""Types whose objects run code in Python if code in C uses or calls them."""
COROUTINES: Final = _types(lambda row: row.is_coroutine)
KNOWN_TYPES: Final = frozenset((row.module, name) for row in _TYPES if row.touches for name in row.names)
"""(module, name) of types whose methods in C touch only their object and their arguments."""
PRIVATE_BASES: Final = names(row for row in _TYPES if row.init_is_private)
"""Names of classes that are not instrumented and whose `__init__` passes the new object to no other code."""
HIDDEN_METHODS: Final = frozenset(
    (kind, name) for row in _TYPES for name in row.no_proof_methods.split() for kind in row.objects()
)
"""(type, name) of methods in C that change an object unseen."""


def _views(container: Any) -> list[Any]:
    return [getattr(container, name)() for name in VIEW_NAMES if hasattr(container, name)]


def _examples() -> Iterator[Any]:
    """Yield a new object of each container type, and an empty tuple."""
    for kind in (*CONTAINERS, tuple):
        yield kind("b") if kind is array.array else kind()


class _Indexed:
    """Class whose objects are iterated over by their method ``__getitem__``."""

    def __getitem__(self, index: int) -> object: ...


def _iterators() -> Iterator[type]:
    """Yield the types of iterators that have no name."""
    yield type(iter(int, 1))
    values = ("a", "\N{SNOWMAN}", b"", range(0), range(1 << 70), memoryview(b""), _Indexed())
    for each in values:
        yield type(iter(each))
    yield type(struct.iter_unpack("b", b""))
    for container in _examples():
        for source in (container, *_views(container)):
            yield type(iter(source))
            if hasattr(type(source), "__reversed__"):
                yield type(reversed(source))


VIEWS: Final = _types(lambda row: row.role == "view") | {type(view) for one in _examples() for view in _views(one)}
PROCESSORS: Final = _types(lambda row: row.role == "processor")
"""Iterators that process the elements of their source instead of only passing them on."""
ITERATORS: Final = _types(lambda row: row.role == "iterator") | PROCESSORS | {*_iterators()}
"""Lazy iterators in C: they access their source at each step, not when they are created."""


def keeps_size(kind: type) -> bool:
    """Whether an iterator over an object of a type reads the size of a container already when it is created."""
    return issubclass(kind, SIZED) or kind in VIEWS


def native_methods_of(kind: type) -> Methods | None:
    """Return the effects of the methods in C that a type inherits from a container; None if it is no container."""
    return next((CONTAINERS[base] for base in kind.__mro__ if base in CONTAINERS), None)


def methods_of(kind: type) -> Methods | None:
    """Return the effects of a container type's methods, without overridden ones; None if it is no container."""
    methods = native_methods_of(kind)
    if methods is None or kind in CONTAINERS:
        return methods
    # The code of an overriding method reports its own accesses.
    parents = itertools.takewhile(lambda parent: parent not in CONTAINERS, kind.__mro__)
    overridden = {name for parent in parents for name in vars(parent)}
    return {name: access for name, access in methods.items() if name not in overridden}
