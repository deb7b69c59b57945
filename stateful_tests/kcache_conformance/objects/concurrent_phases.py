"""The concurrent phases on an object: the explorer, and stress with real threads."""

from __future__ import annotations

import functools
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from kcache_model.bound import Bound
from kcache_model.object_types.object_type import ObjectType
from kcache_model.object_types.specification import real_seconds
from kcache_model.thread_time import own_seconds
from kcache_stress.objects.named_target import of_explorer
from kcache_stress.objects.object_exploration import ObjectExplorationTarget
from kcache_stress.objects.threads import ObjectStress, Round
from kcache_stress.target.explore import Explored, ExploreOptions, hunting

from ..phases.budget_slices import LEAST_PROGRAMS
from ..phases.explorer_phase import Search, explorer_phase
from ..phases.phase import PhaseContext, PhaseOutcome
from .context import own_patience, setting_of
from .directed_programs import contested, filled, overfilled, woken
from .programs import (
    LARGER_SHAPES,
    SHAPES,
    NoProgramError,
    each_call,
    litmus_tests,
    lonely_calls,
    random_program,
    scope_by_size,
    shapes_within,
    waiting_programs,
    with_cancellations,
)

_EXECUTIONS: Final = 400
_PROGRAM_SECONDS: Final = 2.0
_MINIMISE_SECONDS: Final = 8.0
_SMALLER_SECONDS: Final = 3.0
_FIRST_EXECUTIONS: Final = 30
"""Executions of the first program of each call: enough to see whether it returns. The bound has that program, too."""
_SCOPE_EXECUTIONS: Final = 5_000
_FIRST_SCOPE_EXECUTIONS: Final = 100
"""Executions of each program of the bound in the first pass: if an object's thread never ends, none is exhausted."""
_BOUND: Final = Bound(2, 2)
"""All programs of this size are explored first, as far as there is time: most faults show in one of them."""
_LEAST_LARGER: Final = 60
"""Larger programs that are explored even if the bound is proved: some faults need a third thread, or call."""
_MOST_FILLED: Final = 60
"""The most programs on an object that holds two things; a class with twenty methods has hundreds."""
_MOST_WOKEN: Final = 12
"""The most programs with a wait that is overtaken; most classes have one waiting call, and one that ends its wait."""
_MOST_CONTESTED: Final = 20
_CONTESTED_EXECUTIONS: Final = 150
"""Executions of each of these programs: a call must come between a wake-up and the call that was woken."""
_MOST_OVERFILLED: Final = 12
"""The most programs of these kinds, so that those of the bound get their turn, too."""
_BESIDE_FILLED: Final = 2
"""Random programs for each of these programs."""
_WAITING_EVERY: Final = 3
"""Of so many programs, one may be one in which a call waits forever: if calls wait, half of all are."""
_PROGRESS_SECONDS: Final = 0.2
_PROGRAMS_UNDER_STRESS: Final = 200
_ROUNDS_AT_ONCE: Final = 8
_SAMPLE: Final = 3
_LEAST_CALL_SECONDS: Final = 0.5
"""Used even if loading has spent the budget: a verdict needs each call once, and one program takes milliseconds."""
_LEAST_SLOW: Final = 4
"""Rounds that are always run if the first programs wait or sleep: each round takes as long as they do."""
_SLOW_SHARE: Final = 0.5
"""The share of the budget that these rounds may take; if they wait for longer, only the explorer runs the programs."""
_QUICK_SECONDS: Final = 0.05
"""The most time that a program may wait: each of its rounds waits, and most races need many rounds."""


def explorer(object_type: ObjectType, context: PhaseContext) -> PhaseOutcome:
    """Explore the interleavings of small programs."""
    options = ExploreOptions(
        executions=_EXECUTIONS,
        seconds=_PROGRAM_SECONDS,
        strict_errors=context.options.strict_errors,
        minimise_seconds=_MINIMISE_SECONDS,
    )

    exhaustive = replace(options, strategy="dpor", executions=_SCOPE_EXECUTIONS)
    explored_type = of_explorer(object_type)
    scope = _Scope(explored_type, context, exhaustive)
    first = [program for program in _each_call(object_type, context) if program not in context.exhausted]

    def searches(_: str) -> Iterator[Search]:
        for search in programs(_):
            yield replace(search, program=with_cancellations(object_type, search.program, context.options, usual=1))

    def programs(_: str) -> Iterator[Search]:
        exploration_target = ObjectExplorationTarget(object_type, context.target, context.options.instrument)
        for program in first:
            note = functools.partial(_note_exhausted, context.exhausted, program)
            yield Search(exploration_target, program, replace(options, executions=_FIRST_EXECUTIONS), note)
        alone = lonely_calls(explored_type, context.target)
        thorough = replace(options, executions=_CONTESTED_EXECUTIONS)
        contests = itertools.islice(contested(explored_type, context.target), _MOST_CONTESTED)
        others = _programs(explored_type, context, with_waits=True)
        for number, (program, chosen) in enumerate(
            itertools.chain(
                ((one, hunting(options, 0)) for one in alone),
                ((one, thorough) for one in contests if one not in context.exhausted),
                ((one, hunting(options, count)) for count, one in enumerate(others)),
            )
        ):
            while scope.is_next and (small := scope.program()) is not None:
                yield Search(exploration_target, small, scope.options, scope.note)
            if scope.proved and number >= _LEAST_LARGER and context.programs is None:
                return
            yield Search(exploration_target, program, chosen, scope.note_larger)

    outcome = explorer_phase(context, searches, object_type.called, least=len(first))
    return outcome if outcome.finding is not None or outcome.refused else replace(outcome, proved=scope.proved)


def _note_exhausted(exhausted: set[Any], program: Any, explored: Explored) -> None:
    if explored.is_exhausted:
        exhausted.add(program)


class _Scope:
    """The programs of a bound, in turn with larger programs: both get about as many executions.

    Args:
        object_type: of the target.
        context: of the phase; programs that an earlier turn has exhausted are not explored again.
        exhaustive: options of the second pass; the first pass explores each program with fewer executions.

    Attributes:
        options: the options for the next program.
        proved: the bound, once all of its programs are exhausted; empty before.
    """

    def __init__(self, object_type: ObjectType, context: PhaseContext, exhaustive: ExploreOptions) -> None:
        self.proved: Mapping[str, int] = {}
        self._object_type, self._target, self._exhausted = object_type, context.target, context.exhausted
        self._bound = _BOUND if context.options.shape is None else Bound(*context.options.shape)
        self._exhaustive = exhaustive
        self.options = replace(exhaustive, executions=_FIRST_SCOPE_EXECUTIONS)
        self._waiting: list[Any] = []
        self._programs = scope_by_size(object_type, context.target, self._bound, self._is_over, self._waiting)
        self._number = 0
        self._deeper: list[Any] = []
        self._current: Any = None
        self._count = 0
        self._is_whole = True
        self._is_spent = context.is_spent
        self._executions = self._larger_executions = 0

    def _is_over(self) -> bool:
        if not self._is_spent():
            return False
        self._is_whole = False  # programs are missing: nothing is proved of the bound
        return True

    @property
    def is_next(self) -> bool:
        """Whether the larger programs have had at least as many executions."""
        return self._executions <= self._larger_executions

    def program(self) -> Any:
        """Return the next program that is not exhausted; ``None`` if there is none.

        Now and then it is one that proves nothing: a call may wait forever, and that is not always judged.
        """
        self._number += 1
        if self._waiting and self._number % _WAITING_EVERY == 0:
            self._current = None
            return self._waiting.pop(0)
        for program in self._programs:
            self._count += 1
            if program not in self._exhausted:
                self._current = program
                return program
        if self._deeper:
            self.options, self._current = self._exhaustive, self._deeper.pop(0)
            return self._current
        if self._is_whole and self._count:
            waiting = waiting_programs(self._object_type, self._target, self._bound, self._count)
            bound = {"threads": self._bound.threads, "calls": self._bound.operations}
            self.proved = {**bound, "programs": self._count, "waiting": waiting}
        return None

    def note(self, explored: Explored) -> None:
        """Record the result of exploring the last program."""
        self._executions += explored.executions
        if self._current is None:
            return
        if explored.is_exhausted:
            self._exhausted.add(self._current)
        elif self.options is self._exhaustive:
            self._is_whole = False
        else:
            self._deeper.append(self._current)

    def note_larger(self, explored: Explored) -> None:
        """Record the result of exploring a larger program."""
        self._larger_executions += explored.executions


def stress(object_type: ObjectType, context: PhaseContext) -> PhaseOutcome:
    """Run small programs with real threads."""
    is_quick = functools.cache(functools.partial(_is_quick, object_type))  # it replays the program
    calls = list(_each_call(object_type, context))
    all_programs = itertools.takewhile(
        lambda _: not context.is_spent(),  # to find out whether a program waits may be slow
        itertools.chain(calls, _programs(object_type, context)),
    )
    some = list(itertools.islice(all_programs, _SAMPLE))
    shortest = min((real_seconds(object_type.specification(one), one)[0] for one in some), default=0.0)
    if context.programs is None and _LEAST_SLOW * shortest > _SLOW_SHARE * context.options.budget_seconds:
        return PhaseOutcome({}, refused=f"left out: each round waits for {shortest:.1g} s or more")
    least = LEAST_PROGRAMS["stress"] if any(map(is_quick, some)) else _LEAST_SLOW
    programs = _quick_first(is_quick, itertools.chain(some, all_programs))
    rounds = itertools.chain(  # each call once, even if a slow machine gets no further
        filter(is_quick, calls),
        (program for program in programs for _ in range(_ROUNDS_AT_ONCE)),
    )
    stress = ObjectStress(
        context.target, setting_of(object_type, context), context.watch, context.seed, own_patience(context)
    )
    played = ((program, None if stress.leaves_out(program) else stress.run(program)) for program in rounds)
    return stress_phase(context, stress, played, least=least)


def stress_phase(
    context: PhaseContext, stress: ObjectStress, played: Iterator[tuple[Any, Round | None]], *, least: int
) -> PhaseOutcome:
    """Run rounds with real threads, until one is a violation or the time is up.

    Args:
        context: of the phase.
        stress: runs the threads.
        played: programs with their rounds; ``None`` if a program is left out. Each round is run when it is asked for.
        least: the number of rounds that are run even if the time is up.
    """
    told = 0.0
    counts = Counter(programs=0, rounds=0, operations=0, overlapping=0, undecided=0)
    covered = stress.coverage.counts, stress.coverage.overlapped
    with stress.underway():
        for (_, fraction), (program, found) in zip(context.steps(least=least), played, strict=False):
            if found is not None:
                counts.update(programs=1)
                counts["rounds"], counts["operations"] = stress.rounds, stress.coverage.counts.total()
                counts["overlapping"], counts["undecided"] = stress.overlapping, stress.undecided
            if time.monotonic() - told >= _PROGRESS_SECONDS:
                told = time.monotonic()
                context.on_progress(fraction, PhaseOutcome(counts, None, *covered))
            if found is not None and found.kind is not None:
                context.on_finding(stress.finding(program, found))
                finding = stress.finding(program, found, context.seconds_within(_SMALLER_SECONDS))
                return PhaseOutcome(counts, finding, *covered)
    return PhaseOutcome(counts, None, *covered, tuple(f"{name} ({why})" for name, why in stress.left_out.items()))


def _quick_first(is_quick: Callable[[Any], bool], programs: Iterator[Any]) -> Iterator[Any]:
    """Yield some programs repeatedly; programs that wait or sleep for long are left out, unless there are no others."""
    slow: list[Any] = []
    quick: list[Any] = []
    for program in itertools.islice(programs, _PROGRAMS_UNDER_STRESS):
        if is_quick(program):
            quick.append(program)
            yield program
        else:
            slow.append(program)
    yield from itertools.cycle(quick or slow)


def _is_quick(object_type: ObjectType, program: Any) -> bool:
    return real_seconds(object_type.specification(program), program)[0] <= _QUICK_SECONDS


def _each_call(object_type: ObjectType, context: PhaseContext) -> Iterator[Any]:
    """Yield a program for each call, if there are no litmus tests; this may take half of the time."""
    half = own_seconds() + max(context.seconds / 2, _LEAST_CALL_SECONDS)
    deadline = half if context.programs is None else float("inf")
    if not any(True for _ in litmus_tests(object_type, context.target)):
        yield from each_call(object_type, context.target, deadline)


def _programs(object_type: ObjectType, context: PhaseContext, *, with_waits: bool = False) -> Iterator[Any]:
    """Yield litmus tests, then random programs. Turns with odd seeds reverse the litmus tests.

    Args:
        object_type: of the target.
        context: of the phase.
        with_waits: whether there are programs among them in which a call may wait forever.
    """
    litmus = list(litmus_tests(object_type, context.target))
    yield from litmus if context.seed % 2 == 0 else reversed(litmus)
    yield from itertools.islice(woken(object_type, context.target), _MOST_WOKEN)
    yield from itertools.islice(overfilled(object_type, context.target), _MOST_OVERFILLED)
    of_two = itertools.islice(filled(object_type, context.target), _MOST_FILLED)
    for number in itertools.count():
        if number % _BESIDE_FILLED == 0:
            yield from itertools.islice(of_two, 1)
        shapes: Sequence[tuple[int, ...]] = LARGER_SHAPES if number % 5 == 4 else SHAPES
        if context.options.shape is not None:
            shapes = shapes_within(*context.options.shape)
        try:
            yield random_program(
                context.seed * 1_000_003 + number,
                object_type,
                context.target,
                shapes,
                context.is_spent,
                may_wait=with_waits and number % _WAITING_EVERY == 0,
            )
        except NoProgramError:
            return
