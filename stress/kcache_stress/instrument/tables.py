"""Effects of the methods of the built-in containers."""

import array
import collections
import datetime
import itertools
import types
from collections.abc import Iterable
from typing import Final

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


def _methods(**names: str) -> Methods:
    meanings = {
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
    }
    return {name: meanings[meaning] for meaning, text in names.items() for name in text.split()}


_COMPARISONS: Final = "__eq__ __ne__ __lt__ __le__ __gt__ __ge__"
_COMMON: Final = "__len__ __iter__ __reversed__ __sizeof__ __reduce__ __reduce_ex__ copy __copy__"
_SHOWING: Final = "__repr__ __str__"

_DICT: Final = _methods(
    reads=_COMMON,
    reads_key="get __getitem__ __contains__",
    reads_comparing=_SHOWING,
    compares_both=_COMPARISONS,
    reads_both="__or__ __ror__",
    writes="popitem clear move_to_end __missing__",
    writes_key="pop setdefault __setitem__ __delitem__",
    writes_from="update __ior__ __init__",
    silent="keys values items",
)
_COUNTER: Final = _DICT | _methods(reads="elements most_common total __missing__", writes_from="subtract")
_LIST: Final = _methods(
    reads=_COMMON + " __mul__ __rmul__",
    reads_comparing="index count __contains__ " + _SHOWING,
    reads_index="__getitem__",
    compares_both=_COMPARISONS,
    reads_both="__add__",
    writes="append insert pop clear reverse __delitem__ __imul__",
    writes_comparing="remove sort",
    writes_index="__setitem__",
    writes_from="extend __iadd__ __init__",
)
_DEQUE: Final = _LIST | _methods(writes="appendleft popleft rotate", writes_from="extendleft")
_ARRAY: Final = _LIST | _methods(
    reads="tobytes tolist tounicode buffer_info",
    writes="byteswap frombytes fromunicode",
    writes_from="extend __iadd__ __init__ fromlist",
)
_SET: Final = _methods(
    reads=_COMMON,
    reads_comparing=_SHOWING,
    reads_key="__contains__",
    reads_both=_COMPARISONS
    + " union intersection difference symmetric_difference issubset issuperset isdisjoint"
    + " __or__ __and__ __sub__ __xor__ __ror__ __rand__ __rsub__ __rxor__",
    writes="pop clear",
    writes_key="add discard remove",
    writes_from="update difference_update intersection_update symmetric_difference_update"
    " __ior__ __iand__ __isub__ __ixor__ __init__",
)

CONTAINERS: Final[dict[type, Methods]] = {
    dict: _DICT,
    collections.OrderedDict: _DICT,
    collections.defaultdict: _DICT | {"__getitem__": KEYED | DEFAULTS},
    collections.Counter: _COUNTER,
    list: _LIST,
    set: _SET,
    collections.deque: _DEQUE,
    bytearray: _ARRAY,
    array.array: _ARRAY,
}

VIEW_NAMES: Final = frozenset({"keys", "values", "items"})
METHOD_NAMES: Final = frozenset(name for methods in CONTAINERS.values() for name in methods) - VIEW_NAMES

CONSUMING_NAMES: Final = frozenset(
    name for methods in CONTAINERS.values() for name, access in methods.items() if access & CONSUMES
)

COMPARING_NAMES: Final = frozenset(
    name for methods in CONTAINERS.values() for name, access in methods.items() if access & COMPARES
)
REFLECTIVE_READS: Final = frozenset(
    {"cell_contents", "__closure__", "__defaults__", "__kwdefaults__", "__globals__", "f_locals", "f_globals"}
    | {"gi_frame", "cr_frame", "ag_frame", "tb_frame", "__code__", "__bases__", "__subclasses__", "gi_running"}
    | {"__getstate__", "__setstate__", "__set__", "__delete__", "add_note", "__notes__"}
    | {"register_error", "lookup_error", "update_wrapper"}
    | {"__traceback__", "with_traceback", "__context__", "__cause__", "__suppress_context__"}
)
REFLECTIVE: Final = REFLECTIVE_READS | frozenset(
    {"__class__", "__dict__", "__annotations__", "__wrapped__", "__doc__", "__name__", "__qualname__", "_value_"}
)
"""Attributes that expose internals of Python if they are stored; reading exposes only :data:`REFLECTIVE_READS`."""

VIEWS: Final = frozenset(
    type(view)
    for mapping in (dict[object, object](), collections.OrderedDict[object, object]())
    for view in (mapping.keys(), mapping.values(), mapping.items(), types.MappingProxyType(mapping))
)


def _iterators() -> Iterable[type]:
    for container in (dict[int, int](), collections.OrderedDict[int, int]()):
        for view in (container, container.values(), container.items()):
            yield type(iter(view))
            yield type(reversed(view))
    for other in ([1], {1}, (1,), collections.deque([1]), bytearray(1), array.array("b")):
        yield type(iter(other))
    yield type(reversed([1]))
    yield type(reversed(collections.deque([1])))
    yield type(iter(int, 1))
    yield from (map, filter, zip, enumerate, reversed)
    yield from (kind for kind in vars(itertools).values() if isinstance(kind, type))


ITERATORS: Final = frozenset(_iterators())
"""Lazy iterators in C: they access their source at each step, not when they are created."""

PLAIN: Final[frozenset[type]] = frozenset({str, int, bytes, float, bool, complex})
"""Types whose values are safe as slots: hashing and comparing them runs no code of the module under test."""

CLOCK_NAMES: Final = frozenset({"now", "utcnow", "today"})
"""Names of class methods of `datetime` that read the real clock."""


def reads_the_clock(owner: object, name: str) -> bool:
    """Whether `owner` is `date` or `datetime`, or a subclass, and its method `name` reads the clock."""
    return name in CLOCK_NAMES and isinstance(owner, type) and issubclass(owner, datetime.date)


IMMUTABLE: Final[frozenset[type]] = PLAIN | {type(None), tuple, range, slice, type(...), type(NotImplemented)}
"""Types whose objects never need a report, known from the start."""


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
