"""Runs a program once with real threads and records its history.

Each call is timed with the operating system's monotonic clock, which all threads share; no lock and no counter is
involved that would order the threads by itself. Calls at the same tick count as concurrent, so that a coarse clock can
hide a violation but never make one up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from kcache_model.driver import Driver, Prepared
from kcache_model.history import FINAL_THREAD, PREFIX_THREAD, Call, History
from kcache_model.operations import Operation
from kcache_model.outcomes import Outcome
from kcache_model.program import Program
from kcache_model.target import Target

from .aftermath import broken_afterwards
from .crew import Crew
from .noise import Noise
from .workload import final_reads

_Record = tuple[int, int, object, BaseException | None]
"""Invoked, returned, result, exception."""


@dataclass(frozen=True)
class Recording:
    """What one run of a program showed.

    Attributes:
        history: its calls; those that never returned are pending.
        broken: the invariants that do not hold afterwards.
        hung: where the threads were when the run was given up; empty if it ended.
    """

    history: History
    broken: tuple[str, ...] = ()
    hung: str = ""


def record(target: Target, program: Program, crew: Crew, noise: Noise | None, patience_seconds: float) -> Recording:
    """Run ``program`` on a new Indexer of ``target``.

    Args:
        target: the implementation. What its factory raises passes through.
        program: what to do.
        crew: has at least as many threads as the program.
        noise: disturbs the threads; ``None`` leaves them alone.
        patience_seconds: how long nothing may move before the run is given up.
    """
    with noise.in_new_threads() if noise else nullcontext():
        driver = Driver(target, program.indexes, program.semantics)
    run = _Run(driver, noise)
    run.alone(PREFIX_THREAD, program.prefix)
    if not run.together(crew, program.threads, patience_seconds):
        return Recording(run.history(program), hung=crew.stacks())
    run.alone(FINAL_THREAD, final_reads(program, target))
    broken = broken_afterwards(driver, target)
    driver.close()
    return Recording(run.history(program), tuple(broken))


class _Run:
    def __init__(self, driver: Driver, noise: Noise | None) -> None:
        self._driver = driver
        self._noise = noise
        self._prepared: dict[int, list[Prepared]] = {}
        self._records: dict[int, list[_Record]] = {}
        self._begun: dict[int, int] = {}

    def alone(self, thread: int, operations: Sequence[Operation]) -> None:
        """Run operations in the calling thread; whoever runs us watches over it."""
        self._task(thread, operations, None)()

    def together(self, crew: Crew, threads: Sequence[Sequence[Operation]], patience_seconds: float) -> bool:
        """Run one list of operations in each thread; whether all ended."""
        tasks = [self._task(number, operations, self._noise) for number, operations in enumerate(threads)]
        return crew.run(tasks, self._progress, patience_seconds)

    def history(self, program: Program) -> History:
        calls = []
        for thread, prepared in self._prepared.items():
            records = self._records[thread]
            for call, (invoked, returned, result, error) in zip(prepared, records, strict=False):
                calls.append(Call(thread, call.operation, invoked, returned, self._outcome(call, result, error)))
            if len(records) < len(prepared) and thread in self._begun:
                calls.append(Call(thread, prepared[len(records)].operation, self._begun[thread], None, None))
        return History(program.indexes, tuple(sorted(calls, key=lambda call: call.invoked)), program.semantics)

    def _task(self, thread: int, operations: Sequence[Operation], noise: Noise | None) -> Callable[[], None]:
        prepared = self._prepared[thread] = [self._driver.prepare(operation) for operation in operations]
        records = self._records[thread] = []
        begun = self._begun
        clock = time.perf_counter_ns

        def work() -> None:
            for call in prepared:
                function, arguments = call.function, call.arguments
                invoked = begun[thread] = clock()
                try:
                    result = function(*arguments)
                except BaseException as error:
                    records.append((invoked, clock(), None, error))
                else:
                    records.append((invoked, clock(), result, None))

        if noise is None:
            return work

        def noisy() -> None:
            with noise.here():
                work()

        return noisy

    def _progress(self) -> int:
        return sum(len(records) for records in self._records.values())

    def _outcome(self, call: Prepared, result: object, error: BaseException | None) -> Outcome:
        if error is not None:
            return self._driver.outcome_of_error(error)
        return self._driver.outcome(call, result)
