"""A Hypothesis strategy for small concurrent programs, with the calls of the explorer's alphabet.

A program begins with one of the alphabet's stores, sometimes followed by one more call before the threads begin. Its
calls come from the core of the alphabet and from at most two more groups (guests): a program that mixes all groups
rarely has two concurrent calls that concern each other. The first element of each choice is the simplest, so that
Hypothesis shrinks towards the fewest threads of the fewest calls each, on the first store.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from hypothesis import strategies as st

from kcache_model.errors import TargetError
from kcache_model.indexers.items import Semantics
from kcache_model.indexers.operations import Operation, OperationName
from kcache_model.indexers.program import Program
from kcache_model.indexers.target import INDEXES, Target
from kcache_model.indexers.vocabulary import INDEX, CallTemplate
from kcache_stress.indexers.programs.alphabet import STORES, Maker, alphabet, fill
from kcache_stress.indexers.programs.footprints import some_calls_meet
from kcache_stress.indexers.programs.symmetry import in_order

_MOST_EARLY_CALLS = 1
_MOST_GROUPS = 2
_GUESTS_PER_CORE_CALL = 2

_Templates: TypeAlias = Sequence[CallTemplate]


def concurrent_programs(
    target: Target,
    semantics: Semantics,
    threads: tuple[int, int] = (2, 4),
    operations: tuple[int, int] = (1, 4),
) -> st.SearchStrategy[Program]:
    """Strategy for programs in which at least two calls of different threads meet.

    Args:
        target: the implementation; only calls that it supports are used.
        semantics: the generation of client-go that defines the correct results.
        threads: minimum and maximum number of threads.
        operations: minimum and maximum number of calls of one thread.

    Raises:
        TargetError: no two calls that the target supports can meet.
    """
    author = _Author(target, semantics)
    if not author.can_meet(author.templates):
        raise TargetError(
            f"{target.name} supports no two calls that can conflict, so there is nothing to explore; "
            "remove the calls that it supports from kcache_unsupported"
        )

    @functools.cache
    def programs(*groups: str) -> st.SearchStrategy[Program]:
        calls = st.sampled_from(author.vocabulary(groups))
        return st.builds(
            author.program,
            st.sampled_from(author.stores),
            st.lists(calls, max_size=_MOST_EARLY_CALLS),
            st.lists(
                st.lists(calls, min_size=operations[0], max_size=operations[1]),
                min_size=threads[0],
                max_size=threads[1],
            ),
        )

    group = st.sampled_from(author.groups)
    return st.tuples(*[group] * _MOST_GROUPS).flatmap(lambda groups: programs(*groups)).filter(some_calls_meet)


class _Author:
    """Builder of the programs for a target.

    Attributes:
        templates: all calls.
        core: the calls that every program may contain: the calls without a group if two of them can meet, else all.
        groups: the groups of the other calls; the first is the empty group, which adds no calls.
        stores: the objects that a program may start with.
    """

    def __init__(self, target: Target, semantics: Semantics) -> None:
        self._target = target
        self._semantics = semantics
        self._indexes = () if INDEXES in target.unsupported else (INDEX,)
        self.stores = [store for store in STORES if fill(Maker("store", target), store, target) is not None]
        self.templates = alphabet(target)
        core = tuple(template for template in self.templates if not template.group)
        self.core = core if self.can_meet(core) else self.templates
        self.groups = list(
            dict.fromkeys(("", *(template.group for template in self.templates if template not in self.core)))
        )

    def can_meet(self, templates: _Templates) -> bool:
        """Whether any two of these calls meet if they run in different threads on the last of the stores."""
        pairs = itertools.combinations_with_replacement(templates, 2)
        return any(some_calls_meet(self.program(self.stores[-1], (), ((one,), (two,)))) for one, two in pairs)

    def vocabulary(self, groups: Iterable[str]) -> _Templates:
        """The core and the guests of these groups; the guests, which are few, are repeated to be chosen more often."""
        guests = [template for template in self.templates if template.group in groups and template not in self.core]
        again = _GUESTS_PER_CORE_CALL * len(self.core) // len(guests) if guests else 0
        return (*self.core, *guests * max(1, again))

    def program(self, store: tuple[str, ...], early: _Templates, threads: Sequence[_Templates]) -> Program:
        """Build a program of these calls; the stamps of a call are derived from its position."""
        late = any(template.name is OperationName.ADD_INDEXERS for template in itertools.chain(early, *threads))

        def made(place: str, templates: _Templates) -> tuple[Operation, ...]:
            makers = (Maker(f"{place}.{position}", self._target, late) for position in range(len(templates)))
            return tuple(template.make(maker) for template, maker in zip(templates, makers, strict=True))

        stored = fill(Maker("store", self._target, late), store, self._target) or ()
        program = Program(
            self._indexes,
            (*stored, *made("early", early)),
            tuple(made(str(number), templates) for number, templates in enumerate(threads)),
            self._semantics,
        )
        return in_order(program, range(len(threads)))
