"""Runner of programs on an Indexer: performs the calls of each thread and records their outcomes."""

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
"""Most waits of one execution that may time out although another thread could go on."""


class ProgramRunner(InSandbox):
    """Runner of many executions of one program.

    Args:
        subject: the implementation.
        program: the program to run.
        pulse: called before each execution.
        reads_back: whether all contents are read when the threads have ended.

    Attributes:
        final_reads: the reads after the threads have ended.
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
        """Run the program once under ``strategy``. Exceptions of the factory propagate.

        If the factory or a call outside of threads deadlocks, the result ends in a deadlock and has no events.
        The next run, or :meth:`clean_up`, unwinds threads that have not ended.
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
            trace = scheduler.trace  # read after begin(): a strategy may replace the list, to observe the events
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
        """Unwind the threads of the last execution."""
        self.subject.sandbox.reset(len(self.program.threads))

    def outcome(self, execution: Execution[Outcome]) -> object:
        """Return the ending, the outcomes of the calls and of the final reads; they agree for equivalent executions.

        Threads with equal calls are interchangeable, so their outcomes are put in order.
        """
        outcomes = self._equal_threads.in_order([tuple(outcomes) for outcomes in execution.outcomes])
        return execution.ending, outcomes, execution.final

    def _one_by_one(
        self, driver: Driver, calls: Calls, before: Sequence[tuple[Operation, Outcome]] = ()
    ) -> tuple[Outcome, ...]:
        """Perform calls outside of threads and return their outcomes.

        Args:
            driver: the driver of the Indexer.
            calls: the calls.
            before: earlier calls and their outcomes; the last that failed is named if a call waits for ever.

        Raises:
            SetupDeadlockError: a call waits for ever.
        """
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
                if type(method) is FunctionType:  # call the method itself, without the harness's frame around it
                    method = getattr(method, "snapshot_of", method)
                try:
                    if not foreign_code.is_understood(method):
                        # Perhaps nothing in it reports events. Count the call as one step that accesses all it reaches.
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
    """Log of one thread of the program: its calls, their results, and the spans of their events in the trace."""

    __slots__ = ("calls", "records", "spans")

    def __init__(self, driver: Driver, made: Calls) -> None:
        self.calls: list[Call] = made.prepare(driver)
        self.records: list[tuple[Call, object, BaseException | None]] = []
        self.spans: list[tuple[int, int]] = []
