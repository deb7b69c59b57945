"""The vocabulary of Indexers: one table from which every generator of programs takes its calls.

A template builds a call with arguments from a source. Each generator has its own source: random arguments for the
explorer and for real threads, Hypothesis strategies for the state machine. The table also lists the calls of small
programs, with fixed arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeAlias

from . import operations as op
from .items import Item, Values
from .operations import INDEX_OPERATIONS, Operation, OperationName, WriteKind
from .target import INDEXES, Target

INDEX: Final = "node"
"""The index that the Indexer of a small program is created with."""

ALL_INDEXES: Final = (INDEX, "tags", "group")
"""The indices that a random program may be created with."""

LATE_INDEXES: Final = ("zone", "tier")
"""The indices that ``add_indexers`` adds."""

LATE_INDICES: Final = "late indices"
"""The group of calls about indices that are added later; they are useful only together, and on an empty store."""

RESOURCE_VERSION: Final = "resource version"
"""The group of calls about the resource version; they are useful only together."""

MISUSE: Final = "misuse"
"""The group of operations that a correct user avoids; only strict runs use them."""

_OTHER_KEY: Final = "other key"


class ArgumentSource(Protocol):
    """Source of the arguments of calls."""

    def item(self) -> Item:
        """A new version of an object."""
        ...

    def bare(self) -> Item:
        """An object for a call that uses only its key."""
        return self.item()

    def query(self) -> Item:
        """An object for ``index``: the objects that share its index values are looked up."""
        return self.item()

    def items(self) -> tuple[Item, ...]:
        """The objects of a ``replace``."""
        ...

    def entries(self) -> Sequence[tuple[WriteKind, Item]]:
        """The writes of a ``transaction``."""
        ...

    def key(self) -> str:
        """A key."""
        ...

    def index(self) -> str:
        """The name of an index."""
        ...

    def late_index(self) -> str:
        """The name of an index that may have been added by now."""
        ...

    def late_names(self) -> Sequence[str]:
        """Names of indices to add."""
        ...

    def value(self) -> str:
        """A value of an index."""
        ...

    def version(self) -> str:
        """A resource version."""
        ...

    def values(self) -> Values:
        """The values of an object under each index."""
        return self.item().values


class SmallSource(Protocol):
    """Source of the objects for one position in a small program."""

    def item(self, text: str) -> Item:
        """An object: ``"ax"`` has the key a and the value x; ``"axy"`` has two values; ``"a"`` has no value."""
        ...

    def version(self) -> str:
        """A resource version, if any call of the program can observe it."""
        ...


@dataclass(frozen=True)
class CallTemplate:
    """One call of small programs.

    Attributes:
        name: the method.
        make: builds the operation.
        group: the group of calls that it is used with; empty for the core, which every program may contain.
    """

    name: OperationName
    make: Callable[[SmallSource], Operation]
    group: str


@dataclass(frozen=True)
class Template:
    """One operation of the vocabulary.

    Attributes:
        name: the method.
        make: builds an operation.
        weight: relative frequency among the templates of its group.
        group: the group of calls that it is useful with; empty if it is useful on its own.
        small: its calls in small programs, as pairs (group of calls that it is used with, builder); the group is empty
            for the core, which every program may contain.
    """

    name: OperationName
    make: Callable[[ArgumentSource], Operation]
    weight: int
    group: str = ""
    small: tuple[tuple[str, Callable[[SmallSource], Operation]], ...] = ()

    @property
    def is_write(self) -> bool:
        """Whether it may change the state."""
        return self.name in op.WRITES


Templates: TypeAlias = tuple[Template, ...]

_N, _ADD = OperationName, WriteKind.ADD

VOCABULARY: Final[tuple[Template, ...]] = (
    Template(
        _N.ADD,
        lambda source: op.add(source.item()),
        6,
        small=(
            ("", lambda make: op.add(make.item("ax"))),
            ("", lambda make: op.add(make.item("ay"))),
            ("", lambda make: op.add(make.item("bx"))),
            (_OTHER_KEY, lambda make: op.add(make.item("by"))),
        ),
    ),
    Template(
        _N.UPDATE,
        lambda source: op.update(source.item()),
        5,
        small=(("update", lambda make: op.update(make.item("ay"))),),
    ),
    Template(
        _N.DELETE,
        lambda source: op.delete(source.bare()),
        4,
        small=(
            ("", lambda make: op.delete(make.item("a"))),
            (_OTHER_KEY, lambda make: op.delete(make.item("b"))),
        ),
    ),
    Template(
        _N.REPLACE,
        lambda source: op.replace(source.items()),
        4,
        small=(
            ("replace", lambda _: op.replace(())),
            ("replace", lambda make: op.replace((make.item("bx"),))),
            ("replace", lambda make: op.replace((make.item("ay"), make.item("bx")), make.version())),
        ),
    ),
    Template(
        _N.TRANSACTION,
        lambda source: op.transaction(*source.entries()),
        2,
        small=(
            (
                "transaction",
                lambda make: op.transaction((WriteKind.ADD, make.item("ay")), (WriteKind.ADD, make.item("bx"))),
            ),
            (
                "transaction",
                lambda make: op.transaction((WriteKind.DELETE, make.item("a")), (WriteKind.ADD, make.item("bx"))),
            ),
        ),
    ),
    Template(
        _N.BY_INDEX,
        lambda source: op.by_index(source.index(), source.value()),
        6,
        small=(("", lambda _: op.by_index(INDEX, "x")), ("", lambda _: op.by_index(INDEX, "y"))),
    ),
    Template(
        _N.INDEX,
        lambda source: op.index(source.index(), source.query()),
        3,
        small=(
            ("index", lambda make: op.index(INDEX, make.item("ax"))),
            ("index", lambda make: op.index(INDEX, make.item("axy"))),
        ),
    ),
    Template(
        _N.INDEX_KEYS,
        lambda source: op.index_keys(source.index(), source.value()),
        3,
        small=(
            ("index_keys", lambda _: op.index_keys(INDEX, "x")),
            ("index_keys", lambda _: op.index_keys(INDEX, "y")),
        ),
    ),
    Template(
        _N.LIST_INDEX_FUNC_VALUES,
        lambda source: op.list_index_func_values(source.index()),
        4,
        small=(("index values", lambda _: op.list_index_func_values(INDEX)),),
    ),
    Template(_N.LIST, lambda _: op.list_objects(), 4, small=(("", lambda _: op.list_objects()),)),
    Template(_N.LIST_KEYS, lambda _: op.list_keys(), 3, small=(("list_keys", lambda _: op.list_keys()),)),
    Template(
        _N.GET_BY_KEY,
        lambda source: op.get_by_key(source.key()),
        5,
        small=(("", lambda _: op.get_by_key("a")), (_OTHER_KEY, lambda _: op.get_by_key("b"))),
    ),
    Template(
        _N.GET,
        lambda source: op.get(source.bare()),
        2,
        small=(("get", lambda make: op.get(make.item("a"))),),
    ),
    Template(
        _N.ADD_INDEXERS,
        lambda source: op.add_indexers(*source.late_names()),
        4,
        LATE_INDICES,
        small=((LATE_INDICES, lambda _: op.add_indexers(*LATE_INDEXES)),),
    ),
    Template(
        _N.GET_INDEXERS,
        lambda _: op.get_indexers(),
        3,
        LATE_INDICES,
        small=((LATE_INDICES, lambda _: op.get_indexers()),),
    ),
    Template(
        _N.BY_INDEX,
        lambda source: op.by_index(source.late_index(), source.value()),
        2,
        LATE_INDICES,
        small=((LATE_INDICES, lambda _: op.by_index(LATE_INDEXES[0], "x")),),
    ),
    Template(
        _N.LIST_INDEX_FUNC_VALUES,
        lambda source: op.list_index_func_values(source.late_index()),
        1,
        LATE_INDICES,
    ),
    Template(
        _N.BOOKMARK,
        lambda source: op.bookmark(source.version()),
        2,
        RESOURCE_VERSION,
        small=((RESOURCE_VERSION, lambda make: op.bookmark(make.version())),),
    ),
    Template(
        _N.REPLACE,
        lambda source: op.replace(source.items(), source.version()),
        1,
        RESOURCE_VERSION,
    ),
    Template(
        _N.LAST_SYNC_RESOURCE_VERSION,
        lambda _: op.last_sync_resource_version(),
        3,
        RESOURCE_VERSION,
        small=((RESOURCE_VERSION, lambda _: op.last_sync_resource_version()),),
    ),
    Template(
        _N.RESYNC,
        lambda _: op.resync(),
        1,
        RESOURCE_VERSION,
        small=(("resync", lambda _: op.resync()),),
    ),
    Template(_N.MUTATE, lambda source: op.mutate(source.key(), source.values()), 1, MISUSE),
)


def writes(group: str = "") -> Templates:
    """The writes of a group."""
    return tuple(template for template in VOCABULARY if template.is_write and template.group == group)


def reads(group: str = "") -> Templates:
    """The reads of a group."""
    return tuple(template for template in VOCABULARY if not template.is_write and template.group == group)


def named(*names: OperationName) -> Templates:
    """The templates of these calls that belong to no group, in the order of the table."""
    return tuple(template for template in VOCABULARY if template.name in names and not template.group)


def mixed(weights: Mapping[OperationName, int]) -> Templates:
    """The first template of each of these calls with the given weight, in the order of ``weights``."""
    first = {template.name: template for template in reversed(VOCABULARY)}
    return tuple(replace(first[name], weight=weight) for name, weight in weights.items())


def is_offered(name: OperationName, target: Target) -> bool:
    """Whether the target supports a call; a target without indices supports no call about indices."""
    return target.supports(name) and not (INDEXES in target.unsupported and name in INDEX_OPERATIONS)


def offered(templates: Templates, target: Target) -> Templates:
    """The templates whose calls the target supports."""
    return tuple(template for template in templates if is_offered(template.name, target))


def call_templates() -> list[CallTemplate]:
    """The calls of small programs; the core comes first."""
    templates = [CallTemplate(template.name, make, group) for template in VOCABULARY for group, make in template.small]
    return sorted(templates, key=lambda template: bool(template.group))
