"""Stress: runs programs with real threads. A thread that does not return is a finding, with its stack."""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from kcache_model.finding import Finding, FindingKind
from kcache_model.history import PREFIX_THREAD, Call
from kcache_model.object_types.checking import CallsVerdict
from kcache_model.object_types.object_type import ObjectTarget
from kcache_model.object_types.smaller import smaller
from kcache_model.object_types.specification import real_seconds
from kcache_model.progress import ProgressListener
from kcache_model.verdict import Status

from ..outside import outside_wait
from ..real_threads.coverage import Coverage
from ..real_threads.noise import Level, Noise
from ..real_threads.thread_pool import ThreadPool
from .findings import Setting, concurrent_finding
from .kept_locks import KeepingCalls
from .named_target import new_object
from .real_run import RealRun

_MOST_THREADS: Final = 3
"""The most threads of the programs that the phases create."""
_LEVELS: Final = (None, Level(0.3), Level(1.0), Level(1.0, (1e-6, 2e-4)))
_SWITCH_SECONDS: Final = 1e-5
_SLOW_SECONDS: Final = 0.5
"""If a program takes longer (it may use the network), it runs on one object only: the budget is in seconds."""
_SMALLER_SECONDS: Final = 6.0
_CANDIDATE_SECONDS: Final = 0.5


_IN_ONE_GO: Final = 16
"""Number of objects on which started threads make their calls, one object after another. Very short calls end before
the next thread has started. With many objects, an interrupted thread is overtaken by others on the same object."""


_OF_VIRTUAL_THREADS: Final = "cannot switch to a different thread"
"""Part of the message of greenlet's error if a real thread waits for a virtual lock."""


@dataclass(frozen=True)
class Round:
    """Result of one run of a program with real threads.

    Attributes:
        calls: the calls that ended.
        verdict: the judgement of the specification about the calls.
        hung: the stacks of the threads when the run was abandoned; empty if no hang is reported.
    """

    calls: tuple[Call[Any], ...]
    verdict: CallsVerdict
    hung: str = ""

    @property
    def kind(self) -> FindingKind | None:
        """The kind of violation; ``None`` if there is none."""
        if self.hung:
            return FindingKind.HANG
        if self.verdict.status is not Status.VIOLATION or self.verdict.wrong is None:
            return None
        return FindingKind.EXCEPTION if self.verdict.is_error else FindingKind.NONLINEARIZABLE


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
        self._watch.note(json.dumps(self._type.codec.encode_program(program)))
        with self._noise.reach_new_threads():
            drivers = [new_object(self._type, self._target, program) for _ in range(objects)]
        if any(getattr(driver, "shares_state", False) for driver in drivers):
            self._shares_state, drivers = True, drivers[-1:]
        runs = [RealRun(self._setting, self._target, program, driver) for driver in drivers]
        patience = self._patience_seconds + len(runs) * real_seconds(self._type.specification(program), program)[1]
        for parts, level in (
            ([_InTurn([one.before for one in runs])], None),
            # The first thread of the pool is reserved for the calls before and after the threads.
            ([_InTurn([]), *map(_InTurn, zip(*(one.threads for one in runs), strict=True))], self._level()),
            ([_InTurn([one.read_back for one in runs])], None),
        ):
            with self._noise.at(level):
                tasks = [self._noisy(part) for part in parts]
                if not self._pool.run(tasks, lambda: self._progress(runs), patience):
                    stuck = runs[min(part.at for part in parts if part.at < len(part.parts))]
                    # Exceptions of calls are outcomes. If a thread of the pool has ended, the harness has an error.
                    is_known = not self._pool.is_whole or self._waits_outside(stuck) or self._is_kept(program, stuck)
                    self.undecided += is_known
                    hung = "" if is_known else self._pool.stacks() or "a thread did not return"
                    self._pool = ThreadPool(self._size)
                    self._watch.rest()
                    return Round(tuple(stuck.calls), CallsVerdict(Status.UNKNOWN), hung)
        self._watch.rest()
        rounds = [self._judged(one) for one in runs]
        return next((one for one in rounds if one.kind is not None), rounds[-1])

    def _judged(self, shown: RealRun) -> Round:
        self.rounds += 1
        self.overlapping += self.coverage.add(sorted(shown.calls, key=lambda call: call.invoked))
        verdict = CallsVerdict(Status.UNKNOWN) if any(map(_is_ours, shown.calls)) else shown.judged()
        self.undecided += verdict.status is Status.UNKNOWN
        return Round(tuple(shown.calls), verdict)

    def _level(self) -> Level | None:
        return self._random.choice(_LEVELS)

    def _waits_outside(self, shown: RealRun) -> bool:
        """Whether a thread waits for the outside world. If so, it is no hang, and its call is excluded from now on."""
        for number, thread in enumerate(self._pool.idents):
            what = outside_wait(thread)
            called = shown.under_way.get(number - 1, shown.under_way.get(PREFIX_THREAD if not number else number - 1))
            if what and called is not None:
                self.left_out[str(called.name)] = f"it waits for {what}"
        return any(outside_wait(thread) for thread in self._pool.idents)

    def _is_kept(self, program: Any, shown: RealRun) -> bool:
        """Whether a thread that has ended its calls keeps a lock. If so, the hang is expected and is no finding."""
        threads = {PREFIX_THREAD: program.prefix, **dict(enumerate(program.threads))}
        ended = (calls for thread, calls in threads.items() if thread not in shown.under_way)
        return any(self._keeping(program, call) for calls in ended for call in calls)

    def repeat(self, program: Any, seconds: float, kind: FindingKind | None = None) -> Round | None:
        """Run a program until a round is a violation (of ``kind``, if given). Return ``None`` after ``seconds``."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            found = self.run(program)
            if found.kind is not None and kind in (None, found.kind):
                return found
        return None

    def finding(
        self, program: Any, found: Round, *, is_small: bool = False, seconds: float = _SMALLER_SECONDS
    ) -> Finding:
        """Create the finding of a round; of a smaller program, if one fails in the same way within ``seconds``."""
        kind = found.kind
        assert kind is not None
        best = found

        def fails(candidate: Any) -> bool:
            nonlocal best
            again = self.repeat(candidate, _CANDIDATE_SECONDS, kind)
            best = again or best
            return again is not None

        # Hangs are not made smaller: each attempt would take the whole patience, and its threads would remain.
        if kind is not FindingKind.HANG and not is_small:
            program = smaller(self._type, program, fails, seconds=seconds)
        return concurrent_finding(
            self._setting,
            "stress",
            kind,
            best.verdict.reason or "a thread did not return although it waits for nothing",
            program,
            best.calls,
            best.verdict,
            detail=best.hung,
        )

    def _progress(self, runs: Sequence[RealRun]) -> int:
        self._watch.alive()
        return sum(len(one.calls) for one in runs)

    def _noisy(self, part: Callable[[], None]) -> Callable[[], None]:
        def work() -> None:
            with self._noise.here():
                part()

        return work


def _is_ours(call: Call[Any]) -> bool:
    """Whether a call failed on a virtual lock: a thread of the class still runs, and imported during an execution."""
    return call.outcome is not None and _OF_VIRTUAL_THREADS in call.outcome.message.lower()
