"""The engine without threads: it searches coroutines, and what it exhausts is all that there is."""

from __future__ import annotations

import inspect
import itertools
import random
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from types import SimpleNamespace

import pytest

from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.equal_actors import NONE_EQUAL
from kcache_stress.engine.events import ACQUIRE, READ, RELEASE, WRITE, Pending, Trace
from kcache_stress.engine.execution import Execution, HiddenTime
from kcache_stress.engine.granularity import Granularity
from kcache_stress.engine.preemption_bounded import PreemptionBounded
from kcache_stress.engine.scheduling import HUB, STOP
from kcache_stress.engine.search import search
from kcache_stress.engine.strategy import Coverage, Ending, Strategy

Coroutine = Generator[Pending, None, object]


class Lock:
    """A lock: its holder sets ``taken``."""

    taken = False


class CoroutineActor:
    """One coroutine, paused before its next event: it yields each event before it performs the event."""

    is_timing_out = is_due = is_in_loop = False

    def __init__(self, coroutine: Coroutine) -> None:
        self.coroutine, self.outcome, self.finished = coroutine, None, False
        self.pending: Pending | None = None
        self.go_on()

    def go_on(self) -> None:
        """Perform the pending event, and pause before the next one."""
        try:
            self.pending = next(self.coroutine)
        except StopIteration as end:
            self.pending, self.outcome, self.finished = None, end.value, True

    @property
    def has_condition(self) -> bool:
        return self.pending is not None and self.pending[0] == ACQUIRE

    @property
    def enabled(self) -> bool:
        return not self.finished and not (self.has_condition and self.pending[1].taken)  # type: ignore[index, attr-defined]


class CoroutineRunner:
    """Runs coroutines that share what ``setup`` returns; the :class:`Scheduling` and the :class:`Runner` in one."""

    granularity, steps_are_events, is_long = Granularity.FREE, True, False
    equal_actors, tells_identities, lets_time_pass = NONE_EQUAL, False, False

    def __init__(self, setup: Callable[[], Sequence[Coroutine]]) -> None:
        self._setup = setup
        self.trace: Trace = []
        self.actors: dict[int, CoroutineActor] = {}
        self.left, self.watched, self.asks_at_starts, self.program_actors = 0, (), False, 0

    def run(self, strategy: Strategy) -> Execution[object]:
        self.trace, self.left = [], 0
        self.actors = dict(enumerate(map(CoroutineActor, self._setup())))
        self.program_actors = len(self.actors)
        strategy.begin(self)
        running = HUB
        while (running := strategy.choose(running)) != STOP:
            actor = self.actors[running]
            while self.left > 0 and actor.enabled:
                assert actor.pending is not None
                self.trace.append((running, *actor.pending))
                actor.go_on()
                self.left -= 1
        outcomes = [[actor.outcome] for actor in self.actors.values()]
        return Execution(strategy.ending, self.trace, len(self.actors), [], outcomes)

    def enabled(self) -> list[int]:
        return [number for number, actor in self.actors.items() if actor.enabled]

    def next_timeouts(self) -> list[int]:
        return []

    def program_is_over(self) -> bool:
        return all(actor.finished for actor in self.actors.values())

    def stop(self) -> int:
        return STOP

    def clean_up(self) -> None: ...

    def hide_time(self, hidden: HiddenTime) -> None: ...

    def place(self) -> str:
        return ""

    def outcome(self, execution: Execution[object]) -> object:
        return tuple(map(tuple, execution.outcomes))


Setup = Callable[[], Sequence[Coroutine]]
PLACES = "xyz"


def adds(shared: SimpleNamespace, lock: Lock | None = None) -> Coroutine:
    if lock is not None:
        yield ACQUIRE, lock, None
        lock.taken = True
    yield READ, shared, "x"
    seen = shared.x
    yield WRITE, shared, "x"
    shared.x = seen + 1
    if lock is not None:
        yield RELEASE, lock, True
        lock.taken = False
    return shared.x


def takes_both(first: Lock, second: Lock) -> Coroutine:
    for lock in (first, second):
        yield ACQUIRE, lock, None
        lock.taken = True
    for lock in (second, first):
        yield RELEASE, lock, True
        lock.taken = False


def counters(number: int, *, are_locked: bool) -> Setup:
    def setup() -> list[Coroutine]:
        shared, lock = SimpleNamespace(x=0), Lock() if are_locked else None
        return [adds(shared, lock) for _ in range(number)]

    return setup


def locks(*, is_ordered: bool) -> Setup:
    def setup() -> list[Coroutine]:
        one, other = Lock(), Lock()
        return [takes_both(one, other), takes_both(one, other) if is_ordered else takes_both(other, one)]

    return setup


def drawn(seed: int) -> Setup:
    """Coroutines that read and write some places, each with a lock or without, drawn at random."""
    draw = random.Random(seed)
    lists = [
        [(draw.choice(PLACES), draw.random() < 0.6, draw.random() < 0.3) for _ in range(draw.randint(1, 3))]
        for _ in range(draw.randint(2, 3))
    ]

    def works(shared: SimpleNamespace, lock: Lock, number: int) -> Coroutine:
        seen = [number]
        for place, writes, is_locked in lists[number]:
            if is_locked:
                yield ACQUIRE, lock, None
                lock.taken = True
            if writes:
                yield WRITE, shared, place
                setattr(shared, place, tuple(seen))
            else:
                yield READ, shared, place
                seen.append(getattr(shared, place))
            if is_locked:
                yield RELEASE, lock, True
                lock.taken = False
        return tuple(seen)

    def setup() -> list[Coroutine]:
        shared, lock = SimpleNamespace(x=None, y=None, z=None), Lock()
        return [works(shared, lock, number) for number in range(len(lists))]

    return setup


def all_outcomes(setup: Setup) -> set[object]:
    """The outcomes of all interleavings, found by trying each choice of each state: it shares no code with a search."""

    def after(choices: tuple[int, ...]) -> Iterator[object]:
        actors = [CoroutineActor(coroutine) for coroutine in setup()]
        for number in choices:
            actors[number].go_on()
        enabled = [number for number, actor in enumerate(actors) if actor.enabled]
        if enabled:
            yield from itertools.chain.from_iterable(after((*choices, number)) for number in enabled)
        else:
            yield tuple((actor.outcome,) for actor in actors)

    return set(after(()))


def searched(setup: Setup, strategy: Strategy | None = None) -> tuple[Coverage, set[object], set[Ending], int]:
    outcomes, endings = set(), set()
    runner = CoroutineRunner(setup)
    result = search(
        runner,
        strategy or Dpor(),
        None,
        on_execution=lambda run: (outcomes.add(runner.outcome(run)), endings.add(run.ending))[0],
    )
    return result.coverage, outcomes, endings, result.executions


@pytest.mark.parametrize(("are_locked", "sums"), [(False, {1, 2, 3}), (True, {3})])
def test_each_interleaving_of_counters_is_searched(are_locked: bool, sums: set[int]) -> None:
    coverage, outcomes, endings, executions = searched(counters(3, are_locked=are_locked))
    assert (coverage, endings) == (Coverage.EXHAUSTED, {Ending.COMPLETE})
    assert {max(returned for (returned,) in outcome) for outcome in outcomes} == sums  # type: ignore[attr-defined]
    assert executions >= len(outcomes)


@pytest.mark.parametrize(
    ("is_ordered", "expected"), [(False, {Ending.COMPLETE, Ending.DEADLOCK}), (True, {Ending.COMPLETE})]
)
def test_a_deadlock_of_coroutines_is_found_and_its_ordered_twin_has_none(
    is_ordered: bool, expected: set[Ending]
) -> None:
    coverage, _, endings, _ = searched(locks(is_ordered=is_ordered))
    assert (coverage, endings) == (Coverage.EXHAUSTED, expected)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_exhausted_is_all_that_brute_force_finds(seed: int) -> None:
    setup = drawn(seed)
    expected = all_outcomes(setup)
    for strategy in (Dpor(), PreemptionBounded(100)):
        coverage, outcomes, _, _ = searched(setup, strategy)
        assert (coverage, outcomes) == (Coverage.EXHAUSTED, expected)


def test_a_runtime_is_short() -> None:
    """All that a new kind of actor needs: what it is, and how one execution is run."""
    assert sum(inspect.getsource(part).count("\n") for part in (Lock, CoroutineActor, CoroutineRunner)) < 80


def test_the_engine_needs_no_other_part() -> None:
    script = (
        "import sys, kcache_stress.engine.counterexample, kcache_stress.engine.audit, kcache_stress.engine.orders\n"
        "others = [name for name in sys.modules if name.startswith('kcache_stress.') and '.engine' not in name]\n"
        "assert not others, others\nassert 'greenlet' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
