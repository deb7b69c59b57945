"""What the interpreter does: outcomes of code that nobody has rewritten, switched at opcodes with few preemptions."""

from __future__ import annotations

import builtins
import dis
import functools
import itertools
import math
import random
import re
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Final

from kcache_stress.engine.events import PAUSE, WRITE, Event
from kcache_stress.engine.granularity import Granularity
from kcache_stress.engine.schedule import Schedule
from kcache_stress.engine.schedule_replay import Replay
from kcache_stress.engine.strategy import Step
from kcache_stress.strategies.opcode_sampling import OpcodeSampling

from . import bench as benches
from . import private_work
from .bench import Bench, Outcome, Run

_NONE: Final = object()
_BENCH: Final = benches.__file__
_ALL: Final = 1_000_000
_MOST_SINGLE: Final = 120
"""More places than that are not all tried."""
_MOST_PREEMPTIONS: Final = 6
_OWN: Final = re.compile(
    "BUILD_|CACHE|COPY|EXTENDED_ARG|JUMP_|KW_NAMES|LOAD_CLOSURE|LOAD_CONST|LOAD_FAST|LOAD_SMALL_INT|MAKE_|NOP"
    "|NOT_TAKEN|POP_TOP|PRECALL|PUSH_NULL|RESUME|RETURN_|STORE_FAST|SWAP"
)
"""Opcodes that work on what only the frame has."""


class Oracle:
    """The outcomes of one pair.

    Args:
        bench: of a granularity of opcodes, set to the pair.
        seed: of what is drawn.

    Attributes:
        seen: outcome -> a schedule that has it.
        executions: how many there were.
    """

    def __init__(self, bench: Bench, seed: int) -> None:
        self.seen: dict[Outcome, Schedule] = {}
        self.executions = 0
        self._bench = bench
        self._random = random.Random(seed)
        self._places: dict[int, list[int]] = {}
        self._shared: dict[int, set[int]] = {0: set(), 1: set()}
        self._written: dict[int, set[int]] = {0: set(), 1: set()}

    def look(self, double: int) -> None:
        """All schedules with at most one preemption, and so many of those with two."""
        for first in (0, 1):
            run = self._follow(((first, _ALL), (1 - first, _ALL)))
            self._places[first] = self._places_of(run, first)
        for first in (0, 1):
            for steps in self._spread(self._places[first]):
                self._follow(((first, steps), (1 - first, _ALL), (first, _ALL)))
        self.look_deeper(double)

    def look_deeper(self, double: int) -> None:
        """So many schedules with two preemptions."""
        for _ in range(double):
            first = self._random.randrange(2)
            if not self._places[first] or not self._places[1 - first]:
                return
            steps, other = (self._random.choice(self._places[thread]) for thread in (first, 1 - first))
            self._follow(((first, steps), (1 - first, other), (first, _ALL), (1 - first, _ALL)))

    def reaches(self, wanted: set[Outcome], executions: int) -> set[Outcome]:
        """Which of these are not seen even in so many random schedules, and as many of each number of preemptions."""
        strategy = OpcodeSampling(self._random.randrange(1 << 30))
        for number in range(executions):
            if wanted <= self.seen.keys():
                break
            if number % 3:
                self.look_deeper(1) if number % 3 == 1 else self._look_wildly()
                continue
            run = self._bench.run(strategy)
            strategy.learn(Step(run.execution.trace, run.execution.ending, run.execution.actors))
            self._note(run, ())
        for places, preemptions in itertools.product((self._written, self._shared), range(3, _MOST_PREEMPTIONS + 1)):
            for schedule in self._with_preemptions(places, preemptions, executions):
                if wanted <= self.seen.keys():
                    return set()
                self._follow(schedule)
        return wanted - self.seen.keys()

    def _with_preemptions(self, among: dict[int, set[int]], preemptions: int, most: int) -> Iterator[Schedule]:
        """All schedules with so many preemptions at these places of each thread, or ``most`` of them."""
        for first in (0, 1):
            threads = (first, 1 - first)
            cuts = (preemptions + 1) // 2, preemptions // 2
            places = [sorted(among[thread]) for thread in threads]
            if math.prod(math.comb(len(its), count) for its, count in zip(places, cuts, strict=True)) <= most // 2:
                drawn = itertools.product(*map(itertools.combinations, places, cuts))
            elif all(len(its) >= count for its, count in zip(places, cuts, strict=True)):
                sample = self._random.sample
                drawn = (
                    tuple(tuple(sorted(sample(its, count))) for its, count in zip(places, cuts, strict=True))
                    for _ in range(most // 2)
                )
            else:
                continue
            for chosen in drawn:
                runs = [[b - a for a, b in itertools.pairwise((0, *its, _ALL))] for its in chosen]
                turns = itertools.chain.from_iterable(itertools.zip_longest(*runs))
                yield tuple((thread, steps) for thread, steps in zip(itertools.cycle(threads), turns) if steps)

    def _look_wildly(self) -> None:
        """One schedule that switches every few places."""
        schedule: list[tuple[int, int]] = []
        marks = {thread: [0, *places, _ALL] for thread, places in self._places.items()}
        at = dict.fromkeys(marks, 0)
        thread = self._random.randrange(2)
        while any(at[thread] < len(marks[thread]) - 1 for thread in marks):
            until = min(at[thread] + 1 + int(self._random.expovariate(0.5)), len(marks[thread]) - 1)
            if until > at[thread]:
                schedule.append((thread, marks[thread][until] - marks[thread][at[thread]]))
            at[thread], thread = until, 1 - thread
        self._follow(tuple(schedule))

    def _places_of(
        self, run: Run, thread: int, leave_out: re.Pattern[str] | None = None, file: str | None = None
    ) -> list[int]:
        """After how many steps a thread comes to something that may be shared, but for opcodes that are left out.

        Of the code of one ``file``, if one is given: what that calls has many places, if it locks, and few that matter.

        With a global lock there are few opcodes before which threads are switched, whatever they do: all are places.
        """
        own: list[Event] = [event for event in run.execution.trace if event[0] == thread and event[1] > WRITE]
        if self._bench.granularity is Granularity.OPCODES_GIL:
            return list(range(1, len(own)))

        def is_place(event: Event) -> bool:
            _, kind, code, offset = event
            if kind != PAUSE:
                return file is None
            if not isinstance(code, CodeType) or not isinstance(offset, int):
                return False
            if file is not None and code.co_filename != file:
                return False
            if offset in _constant(code, self._bench.module):
                return False
            return leave_out is None or not leave_out.match(dis.opname[code.co_code[offset]])

        return [count for count, event in enumerate(own) if count and is_place(event)]

    def _spread(self, places: list[int]) -> Iterator[int]:
        yield from places if len(places) <= _MOST_SINGLE else self._random.sample(places, _MOST_SINGLE)

    def _follow(self, schedule: Schedule) -> Run:
        run = self._bench.run(Replay(schedule))
        self._note(run, schedule)
        return run

    def _note(self, run: Run, schedule: Schedule) -> None:
        self.executions += 1
        if run.outcome and run.outcome not in self.seen:
            self.seen[run.outcome] = schedule
            for thread in (0, 1):  # what raises if it runs alone may come further
                self._shared[thread].update(self._places_of(run, thread, leave_out=_OWN))
                file = self._bench.module.__file__
                self._written[thread].update(self._places_of(run, thread, leave_out=_OWN, file=file))


@functools.lru_cache(maxsize=64)  # each holds a module, and all that it is made of
def _constant(code: CodeType, module: ModuleType) -> frozenset[int]:
    """Return the opcodes that look up a name which no thread writes, or that touch only local variables."""
    if code.co_filename == _BENCH or private_work.NAME in code.co_qualname:
        return frozenset(range(len(code.co_code)))
    found = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL":
            value = vars(module).get(instruction.argval, _NONE)
            known = value is _NONE and hasattr(builtins, str(instruction.argval))
            if known or isinstance(value, (type, FunctionType, ModuleType)):
                found.add(instruction.offset)
    return frozenset(found)
