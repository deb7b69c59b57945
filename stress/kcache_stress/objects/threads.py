"""Stress: runs programs with real threads. A thread that does not return is a finding, with its stack."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from kcache_model.call_program import own_hash_seed
from kcache_model.finding import Finding, FindingKind
from kcache_model.history import PREFIX_THREAD, Call
from kcache_model.object_types.checking import CallsVerdict
from kcache_model.object_types.object_type import Driver, ObjectTarget
from kcache_model.object_types.smaller import smaller
from kcache_model.object_types.specification import real_seconds
from kcache_model.progress import ProgressListener
from kcache_model.rules import BrokenRule
from kcache_model.verdict import Status

from ..interpreter import has_gil
from ..outside import outside_wait
from ..real_threads.coverage import Coverage
from ..real_threads.noise import Level, Noise
from ..real_threads.thread_pool import ThreadPool
from .findings import Setting, concurrent_finding
from .kept_locks import KeepingCalls
from .named_target import close_driver, new_object
from .real_run import RealRun

_MOST_THREADS: Final = 3
"""The most threads of the programs that the phases create."""
_LEVELS: Final = (Level(0.1), Level(0.3), Level(1.0), Level(1.0, (1e-6, 2e-4)))
"""Levels of noise. With rare naps, whole calls run between two naps; with frequent naps, each step is interrupted."""
_QUIET_SHARE, _QUIET_SHARE_IN_PARALLEL = 0.05, 0.5
"""Share of the rounds without noise. It is larger without a GIL: threads in parallel overlap without help."""
_SWITCH_SECONDS: Final = 1e-6
_SLOW_SECONDS: Final = 0.5
"""If a program takes longer (it may use the network), it runs on one object only: the budget is in seconds."""
_FIRST_SHARE: Final = 0.4
"""Share of the time to make a finding smaller that may pass until the program itself fails again."""
_TIMES_AS_LONG: Final = 4.0
_CANDIDATE_SECONDS: Final = (0.1, 0.5)
"""A smaller program is run for four times as long as the program itself needed to fail again, within these limits."""


_IN_ONE_GO: Final = 16
"""Number of objects on which started threads make their calls, one object after another. Very short calls end before
the next thread has started. With many objects, an interrupted thread is overtaken by others on the same object."""


_TIME_PASSED: Final = "the results depend on the clock, and real time has passed in the calls"

_OF_VIRTUAL_THREADS: Final = "cannot switch to a different thread"
"""Part of the message of greenlet's error if a real thread waits for a virtual lock."""


@dataclass(frozen=True)
class Round:
    """Result of one run of a program with real threads.

    Attributes:
        calls: the calls in the order of their invocations; if the run was abandoned, some are pending.
        verdict: the judgement of the specification about the calls.
        hung: the stacks of the threads when the run was abandoned; empty if no hang is reported.
        broken: the invariants that the object broke after the threads had ended.
    """

    calls: tuple[Call[Any], ...]
    verdict: CallsVerdict
    hung: str = ""
    broken: tuple[BrokenRule, ...] = ()

    @property
    def kind(self) -> FindingKind | None:
        """The kind of violation; ``None`` if there is none."""
        if self.hung:
            return FindingKind.HANG
        if self.verdict.status is Status.VIOLATION:
            return FindingKind.EXCEPTION if self.verdict.is_error else FindingKind.NONLINEARIZABLE
        return FindingKind.INVARIANT if self.broken else None

    @property
    def is_fine(self) -> bool:
        """Whether the round came to its end and is correct."""
        return self.kind is None and self.verdict.status is Status.OK

    @property
    def summary(self) -> str:
        """One sentence about the violation."""
        if self.hung:
            waiting = [str(call.operation) for call in self.calls if call.returned is None]
            return f"the threads made no progress; {' and '.join(waiting) or 'their work'} did not return"
        if self.verdict.status is not Status.VIOLATION and self.broken:
            return f"after the threads had ended: {self.broken[0]}"
        return self.verdict.reason

    @property
    def detail(self) -> str:
        """Further lines about the violation."""
        return self.hung or "\n".join(map(str, self.broken[1:]))


class _InTurn:
    """One part of several runs (such as the calls of one thread), executed for one run after another.

    Attributes:
        parts: the part of each run.
        at: index of the part that is being executed; the number of parts if all have ended.
    """

    def __init__(self, parts: Sequence[Callable[[], None]]) -> None:
        self.parts = parts
        self.at = 0

    def __call__(self) -> None:
        for part in self.parts:
            part()
            self.at += 1


class ObjectStress:
    """Stress test of a target: runs programs with real threads, repeatedly.

    Args:
        target: the implementation.
        setting: the data that all findings share.
        watch: is notified of each program.
        seed: of the noise.
        patience_seconds: time without progress after which a run counts as hung.
        threads: the most threads of a program.

    Attributes:
        coverage: the operations called, and how often each overlapped a call of another thread.
        rounds: number of runs that came to their end.
        overlapping: number of runs in which calls of different threads overlapped.
        undecided: number of runs that could not be judged.
        left_out: name of an operation that programs must not call -> reason.
    """

    def __init__(
        self,
        target: ObjectTarget,
        setting: Setting,
        watch: ProgressListener,
        seed: int,
        patience_seconds: float,
        threads: int = _MOST_THREADS,
    ) -> None:
        self._target = target
        self._setting = setting
        self._type = setting.object_type
        self._watch = watch
        self._patience_seconds = patience_seconds
        self._random = random.Random(seed)
        self._noise = Noise(self._random.getrandbits(32))
        self._size = threads + 1  # one more makes the calls before and after the threads
        self._pool = ThreadPool(self._size)
        self.coverage = Coverage()
        self.rounds = self.overlapping = self.undecided = 0
        self.left_out: dict[str, str] = {}
        self._shares_state = False
        self._keeping = KeepingCalls(self._type, target)

    @contextmanager
    def underway(self) -> Iterator[None]:
        """Context in which programs are run: with a short switch interval. At its end, noise and threads are closed."""
        before = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_SECONDS)
        try:
            yield
        finally:
            sys.setswitchinterval(before)
            self._noise.close()
            self._pool.close()

    def leaves_out(self, program: Any) -> bool:
        """Whether a program has calls that are excluded (see ``left_out``)."""
        return any(str(operation.name) in self.left_out for operation in program.operations())

    def run(self, program: Any) -> Round:
        """Run a program once. If no calls overlapped and the run was quick, run the program on 16 more objects.

        The second run is omitted if the first run is a violation, or if the objects share state.

        Returns:
            The first round that is a violation, or the last round.
        """
        before, began = self.overlapping, time.monotonic()
        found = self._together(program, 1)
        is_slow = time.monotonic() - began > _SLOW_SECONDS
        is_enough = found.kind is not None or self.overlapping > before or self._shares_state or is_slow
        return found if is_enough else self._together(program, _IN_ONE_GO)

    def _together(self, program: Any, objects: int) -> Round:
        """Run a program on several new objects; each thread makes its calls on one object after another."""
        self._watch.note(self._type.noted(program))
        drivers = [self._driver(program) for _ in range(objects)]
        if any(getattr(driver, "shares_state", False) for driver in drivers):
            self._shares_state, drivers = True, drivers[-1:]
        runs = [RealRun(self._setting, self._target, program, driver) for driver in drivers]
        patience = self._patience(program, len(runs))
        before = [_InTurn([one.before for one in runs])]
        # The first thread of the pool is reserved for the calls before and after the threads.
        threads = [_InTurn([]), *map(_InTurn, zip(*(one.threads for one in runs), strict=True))]
        for parts, level in ((before, None), (threads, self._level())):
            hung = self._perform(program, runs, parts, level, patience)
            if hung is not None:
                return hung
        hung = self.read_back(program, runs, patience)
        if hung is not None:
            return hung
        for driver in drivers:
            close_driver(driver)
        self.rest()  # judging may take long
        rounds = [self._judged(one) for one in runs]
        return next((one for one in rounds if one.kind is not None), rounds[-1])

    def new_object(self, program: Any) -> Driver:
        """Create the object of a program."""
        self._watch.note(self._type.noted(program))
        driver = self._driver(program)
        self._watch.rest()
        return driver

    def _driver(self, program: Any) -> Driver:
        """Create the object of a program; the noise reaches the threads that it starts."""
        with self._noise.reach_new_threads():
            return new_object(self._type, self._target, program)

    def close(self, program: Any, driver: Driver) -> None:
        """Close the driver of a program's object, so that the object can stop its threads."""
        self._watch.note(self._type.noted(program))
        close_driver(driver)
        self._watch.rest()

    def perform(self, program: Any, run: RealRun) -> Round | None:
        """Run the threads of a program on its object; return the round if they are abandoned."""
        self._watch.note(self._type.noted(program))
        parts = [_InTurn([]), *(_InTurn([one]) for one in run.threads)]
        return self._perform(program, [run], parts, self._level(), self._patience(program, 1))

    def read_back(self, program: Any, runs: Sequence[RealRun], patience: float | None = None) -> Round | None:
        """Read the final states, and check the invariants; return the round if this is abandoned.

        Args:
            program: the program.
            runs: its runs.
            patience: seconds without progress after which the reads are abandoned; by default, those of the program.
        """
        began = time.monotonic()
        patience = self._patience(program, len(runs)) if patience is None else patience
        hung = self._perform(program, runs, [_InTurn([one.read_back for one in runs])], None, patience)
        # Checking the invariants takes as long again, and reports no progress meanwhile.
        if hung is None and time.monotonic() - began < self._patience_seconds:
            for one in runs:
                self._watch.alive()
                one.check_rules()
        return hung

    def _perform(
        self,
        program: Any,
        runs: Sequence[RealRun],
        parts: Sequence[_InTurn],
        level: Level | None,
        patience: float,
    ) -> Round | None:
        """Execute each part in a thread of its own; return the round if a thread does not return."""
        with self._noise.at(level):
            tasks = [self._noisy(part) for part in parts]
            if self._pool.run(tasks, lambda: self._progress(runs), patience):
                return None
            stuck = runs[min(part.at for part in parts if part.at < len(part.parts))]
            # Exceptions of calls are outcomes. If a thread of the pool has ended, the harness has an error.
            is_known = not self._pool.is_whole or self._waits_outside(stuck) or self._is_kept(program, stuck)
            status = Status.UNKNOWN
            if not is_known:  # programs whose calls may wait in any case are left out of stress tests
                status = Status.VIOLATION if stuck.may_wait else stuck.standstill()
            self.undecided += status is Status.UNKNOWN
            if status is Status.OK:  # such a round takes as long as the patience lasts
                waiting = {str(operation.name) for operation, _ in stuck.under_way.values()}
                self.left_out |= dict.fromkeys(waiting, "it may wait forever if another call gives up")
            hung = ""
            if status is Status.VIOLATION:  # of the program, not of the outcomes of its calls
                status, hung = Status.UNKNOWN, self._pool.stacks() or "a thread did not return"
            self._pool = ThreadPool(self._size)
            self._watch.rest()
            return Round(tuple(stuck.history), CallsVerdict(status), hung)

    def _judged(self, run: RealRun) -> Round:
        verdict = CallsVerdict(Status.UNKNOWN) if any(map(_is_ours, run.calls)) else run.judged()
        return self.count(Round(tuple(run.history), verdict, broken=tuple(run.broken)))

    def rest(self) -> None:
        """Record that no call is under way."""
        self._watch.rest()

    def count(self, judged: Round) -> Round:
        """Count a round that came to its end, and return it."""
        self.rounds += 1
        self.overlapping += self.coverage.add(judged.calls)
        self.undecided += judged.verdict.status is Status.UNKNOWN
        return judged

    def _patience(self, program: Any, runs: int) -> float:
        """Seconds without progress after which a number of runs of a program are abandoned."""
        return self._patience_seconds + runs * real_seconds(self._type.specification(program), program)[1]

    def _level(self) -> Level | None:
        quiet = _QUIET_SHARE if has_gil() else _QUIET_SHARE_IN_PARALLEL
        return None if self._random.random() < quiet else self._random.choice(_LEVELS)

    def _waits_outside(self, run: RealRun) -> bool:
        """Whether a thread waits for the outside world. If so, it is no hang, and its call is excluded from now on."""
        for number, thread in enumerate(self._pool.idents):
            what = outside_wait(thread)
            called = run.under_way.get(number - 1, run.under_way.get(PREFIX_THREAD if not number else number - 1))
            if what and called is not None:
                self.left_out[str(called[0].name)] = f"it waits for {what}"
        return any(outside_wait(thread) for thread in self._pool.idents)

    def _is_kept(self, program: Any, run: RealRun) -> bool:
        """Whether a thread that has ended its calls keeps a lock. If so, the hang is expected and is no finding."""
        threads = {PREFIX_THREAD: program.prefix, **dict(enumerate(program.threads))}
        ended = (calls for thread, calls in threads.items() if thread not in run.under_way)
        return any(self._keeping(program, call) for calls in ended for call in calls)

    def repeat(self, program: Any, seconds: float, kind: FindingKind | None = None) -> Round | None:
        """Run a program until a round is a violation (of ``kind``, if given). Return ``None`` after ``seconds``."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            found = self.run(program)
            if found.kind is not None and kind in (None, found.kind):
                return found
        return None

    def finding(self, program: Any, found: Round, seconds: float = 0.0) -> Finding:
        """Create the finding of a round; of a smaller program, if one fails in the same way within ``seconds``."""
        kind = found.kind
        assert kind is not None
        best = found
        program, calls = self._type.excerpt(program, found.calls, found.verdict.core)

        def fails(candidate: Any) -> bool:
            nonlocal best
            again = self.repeat(candidate, allowed, kind)
            best = again or best
            return again is not None

        began = time.monotonic()
        # Hangs are not made smaller: each attempt would take the whole patience, and its threads would remain.
        if kind is not FindingKind.HANG and seconds > 0:
            again = self.repeat(program, seconds * _FIRST_SHARE, kind)
            if again is not None:
                best = again
                needed = time.monotonic() - began
                allowed = min(max(_CANDIDATE_SECONDS[0], needed * _TIMES_AS_LONG), _CANDIDATE_SECONDS[1])
                program = smaller(self._type, program, fails, seconds=seconds - needed)
                program, calls = self._type.excerpt(program, best.calls, best.verdict.core)
        return concurrent_finding(
            self._setting,
            "stress",
            kind,
            best.summary,
            program.with_hash_seed(own_hash_seed()),
            calls,
            best.verdict,
            detail=best.detail,
            rule=best.broken[0].rule if kind is FindingKind.INVARIANT else "",
            unconfirmed=self._depends_on_time(program, kind),
        )

    def _depends_on_time(self, program: Any, kind: FindingKind) -> str:
        """Return a reason for doubt if results depend on the clock: what is judged is when calls began and ended.

        The explorer has a virtual clock: there, the same fault has no such doubt.
        """
        specification = self._type.specification(program)
        is_result = kind is FindingKind.NONLINEARIZABLE and getattr(specification, "has_read_clock", False)
        return _TIME_PASSED if is_result else ""

    def _progress(self, runs: Sequence[RealRun]) -> int:
        self._watch.alive()
        return sum(one.ended for one in runs)

    def _noisy(self, part: Callable[[], None]) -> Callable[[], None]:
        def work() -> None:
            with self._noise.here():
                part()

        return work


def _is_ours(call: Call[Any]) -> bool:
    """Whether a call failed on a virtual lock: a thread of the class still runs, and imported during an execution."""
    return call.outcome is not None and _OF_VIRTUAL_THREADS in call.outcome.message.lower()
