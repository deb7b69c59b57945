"""Small-scope programs: all concurrent programs up to a bound. If none fails, the target is correct at small scope.

A certificate "2x2: N programs, exhausted" refers to the following programs. There are two keys a, b and two values x, y
of one index ``node``; ax is an object with key a and value x; every object has its own stamp.

*The store* when the threads start: it is empty, or holds ax, or ax and bx, or ax and by.

*The core*: add ax, add ay, add bx, delete a, get_by_key a, list, by_index x, by_index y.

*The guests*, in groups:

* other key: add by, delete b, get_by_key b
* update: update ay
* replace: with nothing, with bx, with ay and bx (and a resource version, if that can be read)
* transaction: (add ay, add bx), (delete a, add bx)
* get: get a
* list_keys: list_keys
* index: index of an object under x, of one under x and y
* index_keys: index_keys x, index_keys y
* index values: list_index_func_values
* late indices: add_indexers with two names, get_indexers, by_index x in the first of these two
* resource version: bookmark, last_sync_resource_version
* resync: resync

These are all calls of an Indexer. Calls that the target does not support are left out. The calls are combined into

1. *two threads of one call*: any two calls of which one is a write. If both read, nothing can race.
2. *more threads of one call*: any calls, if each call *meets* a call of another thread: one of the two calls may change
   state that the other call reads or writes. (A call that meets no call can be left out. The program without the call
   is one of these programs as well.)
3. *threads of several calls*: as 2, with guests of at most one group. At most one guest writes, except in the groups
   late indices and resource version, whose calls are useful only together. If a program has a guest and at least four
   calls, the store holds ax at the start; with late indices, it holds ax or nothing.

So every pair of calls of which one writes is run in every store, and the core runs concurrently with every guest:
objects are added, deleted and changed, they move from one value to the other, and they share a value with another
object, while other threads read one key, one value, or everything. Some threads only read.

If programs differ only in names or in the order of their threads, one of them is used: see :mod:`.symmetry`.
"""

from __future__ import annotations

import hashlib
import itertools
import marshal
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from kcache_model.bound import Bound
from kcache_model.indexers.items import Item, Semantics
from kcache_model.indexers.operations import WRITES, Operation, OperationName
from kcache_model.indexers.program import Program
from kcache_model.indexers.restrictions import restricted_program
from kcache_model.indexers.target import INDEXES, Target
from kcache_model.indexers.vocabulary import INDEX, LATE_INDEXES, LATE_INDICES, CallTemplate
from kcache_stress.interruption import is_interrupted

from .alphabet import JOINT_GROUPS, STORES, Maker, alphabet, fill
from .footprints import Domain, Footprint, all_meet
from .symmetry import Form, form_of, in_order, least


def small_scope_programs(
    bound: Bound, target: Target, semantics: Semantics, deadline: float = float("inf")
) -> Iterator[Program]:
    """Yield one program of each class of equivalent programs, in canonical form; programs with the fewest calls first.

    The iteration ends early if ``deadline`` has passed on the clock of ``time.monotonic``, or if the user interrupts.
    """
    scope = _Scope(target, semantics, deadline)
    for sizes in _sizes(bound):
        if not scope.is_cut:
            yield from (restricted_program(program, target) for program in scope.programs(sizes))


def count_small_scope(bound: Bound, target: Target, semantics: Semantics, deadline: float = float("inf")) -> int | None:
    """Return the number of programs of :func:`small_scope_programs`; ``None`` if they cannot be counted in time."""
    scope = _Scope(target, semantics, deadline)
    count = sum(1 for sizes in _sizes(bound) if not scope.is_cut for _ in scope.classes(sizes))
    return None if scope.is_cut else count


_LOOK_AT_CLOCK = 64

_PLAIN = 2
"""Version of marshal in which equal data has equal bytes: later versions also encode which objects are identical."""

_Sizes: TypeAlias = tuple[int, ...]
"""The number of calls of each thread, ascending."""

_Positions: TypeAlias = tuple[int, ...]
"""The calls of one thread, as positions in the alphabet."""

_Threads: TypeAlias = tuple[_Positions, ...]


def _sizes(bound: Bound) -> list[_Sizes]:
    every = [
        sizes
        for threads in range(2, bound.threads + 1)
        for sizes in itertools.combinations_with_replacement(range(1, bound.operations + 1), threads)
    ]
    return sorted(every, key=lambda sizes: (sum(sizes), len(sizes)))


class _Place:
    """All calls of the alphabet, built for one place in a program."""

    def __init__(self, templates: Sequence[CallTemplate], target: Target, name: str, late: bool) -> None:
        self.operations = [template.make(Maker(name, target, late)) for template in templates]
        self.forms = [form_of(operation) for operation in self.operations]


class _Scope:
    """The programs for one target. Places and footprints are computed once and cached.

    Attributes:
        is_cut: whether the enumeration ended early, because of the deadline or an interruption.
    """

    def __init__(self, target: Target, semantics: Semantics, deadline: float) -> None:
        self.is_cut = False
        self._deadline = deadline
        self._target = target
        self._semantics = semantics
        self._indexes = () if INDEXES in target.unsupported else (INDEX,)
        self._templates = alphabet(target)
        self._places: dict[tuple[int, int, bool], _Place] = {}
        self._footprints: dict[tuple[bool, frozenset[Item]], list[Footprint]] = {}
        self._stored = [frozenset(operation.written) for operation in self._place(0, 0, late=True).operations]

    def programs(self, sizes: _Sizes) -> Iterator[Program]:
        """Yield the canonical programs whose threads have these sizes."""
        for prefix, threads, order in self.classes(sizes):
            late = self._is_late(threads)
            operations = tuple(
                tuple(
                    self._place(thread, position, late).operations[template]
                    for position, template in enumerate(templates)
                )
                for thread, templates in enumerate(threads)
            )
            yield in_order(Program(self._indexes, prefix, operations, self._semantics), order)

    def classes(self, sizes: _Sizes) -> Iterator[tuple[tuple[Operation, ...], _Threads, tuple[int, ...]]]:
        """Yield for each class of equivalent programs a prefix, threads, and the order that makes them canonical."""
        seen: set[bytes] = set()  # digests of keys: the keys themselves would take a gigabyte for 3x2
        for store in STORES:
            prefixes = {late: fill(Maker("prefix", self._target, late), store, self._target) for late in (False, True)}
            for number, threads in enumerate(self._threads(sizes)):
                if number % _LOOK_AT_CLOCK == 0 and (time.monotonic() > self._deadline or is_interrupted()):
                    self.is_cut = True
                    return
                late = self._is_late(threads)
                prefix = prefixes[late]
                if prefix is None or not self._is_wanted(store, prefix, threads):
                    continue
                key, order = least([form_of(operation) for operation in prefix], self._forms(threads, late))
                digest = hashlib.blake2b(marshal.dumps(key, _PLAIN), digest_size=16).digest()
                if digest not in seen:
                    seen.add(digest)
                    yield prefix, threads, order

    def _threads(self, sizes: _Sizes) -> Iterator[_Threads]:
        """Return the possible calls of threads of these sizes.

        Threads of equal size are interchangeable, so only ascending sequences of them are returned.
        """
        numbers = range(len(self._templates))
        words = {size: list(itertools.product(numbers, repeat=size)) for size in sizes}
        if sizes[-1] > 1:
            words = {
                size: [templates for templates in found if self._may_mix(templates)] for size, found in words.items()
            }

        def extended(threads: _Threads, first: int) -> Iterator[_Threads]:
            if len(threads) == len(sizes):
                yield threads
                return
            size = sizes[len(threads)]
            for number in range(first, len(words[size])):
                longer = (*threads, words[size][number])
                if sizes[-1] == 1 or self._may_mix(itertools.chain(*longer)):
                    yield from extended(longer, number if sizes[len(longer) : len(longer) + 1] == (size,) else 0)

        return extended((), 0)

    def _may_mix(self, templates: Iterable[int]) -> bool:
        """Whether the guests among the calls belong to at most one group, with at most one write.

        The groups in ``JOINT_GROUPS`` may have several writes.
        """
        guests = [self._templates[template] for template in templates if self._templates[template].group]
        groups = {guest.group for guest in guests}
        if len(groups) > 1:
            return False
        return not groups.isdisjoint(JOINT_GROUPS) or sum(guest.name in WRITES for guest in guests) <= 1

    def _is_wanted(self, store: tuple[str, ...], prefix: Sequence[Operation], threads: _Threads) -> bool:
        calls = tuple(itertools.chain(*threads))
        if len(calls) == 2:
            return any(self._templates[template].name in WRITES for template in calls)
        groups = {self._templates[template].group for template in calls} - {""}
        if groups and len(calls) > 3 and len(calls) > len(threads):
            starts = STORES[:2] if LATE_INDICES in groups else STORES[1:2]
            if store not in starts:
                return False
        footprints = self._footprints_of(prefix, threads)
        return all_meet([[footprints[template] for template in templates] for templates in threads])

    def _footprints_of(self, prefix: Sequence[Operation], threads: _Threads) -> list[Footprint]:
        """Return the footprint of each call in a program that may store these objects."""
        late = self._is_late(threads)
        stored = frozenset(item for operation in prefix for item in operation.written)
        stored = stored.union(*(self._stored[template] for templates in threads for template in templates))
        if (late, stored) not in self._footprints:
            domain = Domain.of(stored, (*self._indexes, *(LATE_INDEXES if late else ())))
            self._footprints[late, stored] = [
                domain.footprint(operation) for operation in self._place(0, 0, late).operations
            ]
        return self._footprints[late, stored]

    def _forms(self, threads: _Threads, late: bool) -> list[list[Form]]:
        return [
            [self._place(thread, position, late).forms[template] for position, template in enumerate(templates)]
            for thread, templates in enumerate(threads)
        ]

    def _place(self, thread: int, position: int, late: bool) -> _Place:
        place = (thread, position, late)
        if place not in self._places:
            self._places[place] = _Place(self._templates, self._target, f"{thread}.{position}", late)
        return self._places[place]

    def _is_late(self, threads: _Threads) -> bool:
        """Whether the program adds indices, so that its objects need values under these indices."""
        return any(
            self._templates[template].name is OperationName.ADD_INDEXERS
            for templates in threads
            for template in templates
        )
