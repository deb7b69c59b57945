"""The runner of programs on an Indexer: it makes the calls of each thread, and notes what they gave."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING

from kcache_model.indexers.driver import Driver, snapshot
from kcache_model.indexers.objects import Thing
from kcache_model.indexers.operations import Operation, OperationName
from kcache_model.indexers.program import Program
from kcache_model.outcomes import Outcome, error_text
from kcache_model.places import place_of

from ..engine.equal_actors import EqualActors
from ..engine.events import Trace
from ..engine.execution import Execution
from ..engine.strategy import Ending, Strategy
from ..modules.state_reset import NO_RESET
from ..modules.target_runner import InSandbox
from ..runtime.threads.standstill import Watched
from ..runtime.threads.virtual_thread import Aborted, SetupDeadlockError, UncontrolledError
from ..runtime.waits import waits
from ..trace.setup_deadlock import waits_for_ever
from .aftermath import broken_afterwards
from .prepared_calls import Call, Calls
from .workload import final_reads

if TYPE_CHECKING:
    from .subject import Subject

_TIMEOUTS = 2
"""How many waits of one execution may time out although something else could happen."""


class ProgramRunner(InSandbox):
    """Runs one program again and again.

    Args:
        subject: the implementation.
        program: what to do.
        pulse: called before each execution.
        reads_back: whether everything is read when the threads have ended.

    Attributes:
        final_reads: what is read then.
        made: the Indexer of the last execution.
    """

    def __init__(
        self,
        subject: Subject,
        program: Program,
        *,
        pulse: Callable[[], None] = lambda: None,
        reads_back: bool = True,
    ) -> None:
        self.subject = subject
        self.sandbox = subject.sandbox
        self.reset = NO_RESET  # a subject is loaded once, before its programs run
        self._pulse = pulse
        self._equal_threads = EqualActors(program.threads)
        self.made: object = None
        self.program = program
        self._calls_made = program.names()
        self.final_reads: Sequence[Operation] = final_reads(program, subject.target) if reads_back else ()
        mutates = any(operation.name is OperationName.MUTATE for operation in program.operations())
        self._things: dict[str, Thing] | None = None if mutates else {}
        self._prefix, *self._threads, self._final = (
            Calls(operations, self._things) for operations in (program.prefix, *program.threads, self.final_reads)
        )

    def run(self, strategy: Strategy) -> Execution[Outcome]:
        """Run the program once under ``strategy``; what the factory raises passes through.

        The threads are unwound and the Indexer is gone when this returns.
        """
        self._pulse()
        with self.subject.sandbox.present(), Watched(self.subject.sandbox.scheduler):
            return self._run(strategy)

    def _run(self, strategy: Strategy) -> Execution[Outcome]:
        sandbox = self.subject.sandbox
        scheduler = sandbox.scheduler
        program = self.program
        sandbox.reset(len(program.threads))
        try:
            driver = Driver(self.subject.target, program.indexes, program.semantics, things=self._things)
            self.made = driver.indexer
            prefix = self._one_by_one(driver, self._prefix)
            scheduler.settle()
            log = [_Log(driver, calls) for calls in self._threads]
            scheduler.equal_actors = self._equal_threads
            strategy.begin(scheduler)
            trace = scheduler.trace  # a strategy may have put another list in its place, to look on
            works = [self._work(part, trace) for part in log]
            sandbox.watch_now_and_then(program=self._calls_made)
            scheduler.explore(works, strategy.choose, _TIMEOUTS)
            execution = Execution(
                strategy.ending,
                trace,
                len(scheduler.actors),
                [part.spans for part in log],
                [
                    [calls.outcome(driver, *record) for record in part.records]
                    for calls, part in zip(self._threads, log, strict=True)
                ],
                prefix,
                timeouts=scheduler.timeouts,
                timeouts_withheld=scheduler.timeouts_withheld,
                was_patient=scheduler.was_patient,
                preemptions=scheduler.preemptions,
            )
            if execution.ending is Ending.DEADLOCK:
                execution.waits = waits(scheduler)
            if execution.ending is Ending.COMPLETE:
                made = zip(
                    itertools.chain(program.prefix, *program.threads),
                    itertools.chain(prefix, *execution.outcomes),
                    strict=False,
                )
                with sandbox.unheard():
                    execution.final = self._one_by_one(driver, self._final, tuple(made))
                execution.broken = lambda: broken_afterwards(driver, self.subject.target)
            execution.doubts = sandbox.doubts
            execution.failures = tuple(error_text(error) for error in scheduler.failures)
            return execution
        except SetupDeadlockError as error:
            return Execution(Ending.DEADLOCK, [], 0, [], [], failures=(str(error),))

    def clean_up(self) -> None:
        """Unwind the last execution."""
        self.subject.sandbox.reset(len(self.program.threads))

    def outcome(self, execution: Execution[Outcome]) -> object:
        """What the calls gave, and what was read back: equivalent executions agree on that."""
        outcomes = self._equal_threads.in_order([tuple(outcomes) for outcomes in execution.outcomes])
        return execution.ending, outcomes, execution.final

    @property
    def is_long(self) -> bool:
        """Whether an execution has so many events that few can be run: programs are short."""
        return False

    @property
    def is_very_long(self) -> bool:
        """Whether it has so many that a handful can be run."""
        return False

    def _one_by_one(
        self, driver: Driver, calls: Calls, before: Sequence[tuple[Operation, Outcome]] = ()
    ) -> tuple[Outcome, ...]:
        """Make calls in the hub; ``before`` is what was called until then."""
        outcomes: list[Outcome] = []
        for call in calls.prepare(driver):
            if calls.operations[call[0]].name is OperationName.MUTATE:
                outcomes.append(driver.run(calls.operations[call[0]]))
                continue
            try:
                result = call[1](*call[2])
            except UncontrolledError:
                raise
            except SetupDeadlockError as error:
                text, place = calls.operations[call[0]].brief, place_of(error)
                made = (*before, *zip(calls.operations, outcomes, strict=False))
                failed = [str(operation.brief) for operation, outcome in made if outcome.error is not None]
                why = waits_for_ever(error, driver.indexer, next(reversed(failed), ""))
                raise SetupDeadlockError(f"{text}{f', at {place},' if place else ''} {why}") from error
            except BaseException as error:
                outcomes.append(driver.outcome_of_error(error))
            else:
                outcomes.append(calls.outcome(driver, call, result, None))
        return tuple(outcomes)

    def _work(self, log: _Log, trace: Trace) -> Callable[[], None]:
        scheduler = self.subject.sandbox.scheduler
        foreign_code = self.subject.sandbox.foreign_code

        def work() -> None:
            for call in log.calls:
                begun = len(trace)
                method = call[1]
                if type(method) is FunctionType:  # no frame of the harness below that of the target
                    method = getattr(method, "snapshot_of", method)
                try:
                    if not foreign_code.is_understood(method):
                        # Nothing in it may report: it is at least one step, on all that it can reach.
                        scheduler.pause()
                        foreign_code.enter(None, f"calls {method!r}, which is not instrumented", (method, *call[2]))
                    result = method(*call[2])
                    if method is not call[1]:
                        result = snapshot(result)
                except Aborted:
                    raise
                except BaseException as error:
                    log.records.append((call, None, error))
                else:
                    log.records.append((call, result, None))
                log.spans.append((begun, len(trace)))

        return work


class _Log:
    """What one thread of the program has done."""

    __slots__ = ("calls", "records", "spans")

    def __init__(self, driver: Driver, made: Calls) -> None:
        self.calls: list[Call] = made.prepare(driver)
        self.records: list[tuple[Call, object, BaseException | None]] = []
        self.spans: list[tuple[int, int]] = []
