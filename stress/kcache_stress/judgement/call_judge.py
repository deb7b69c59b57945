"""Call judge: compares the calls of a program with a specification, and caches verdicts by observation."""

from __future__ import annotations

import copy
import enum
import functools
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from kcache_model.call_program import CallProgram
from kcache_model.finding import FindingKind
from kcache_model.history import Call
from kcache_model.linearizability.monitor import IMPOSSIBLE, Monitor
from kcache_model.linearizability.waiting import TooManyWaysError, WaitingMonitor
from kcache_model.object_types.checking import CALLED_BACK, REFUSED, CallsVerdict, calls_back, may_be_refused
from kcache_model.object_types.specification import (
    SLOW_WAITS,
    STILL_WAITING,
    Specification,
    WaitsMayBeSlow,
    as_called,
    may_wait_for_ever,
)
from kcache_model.outcomes import ANYTHING, CANCELLED, WAITED, ErrorKind, Outcome, unexplained_text
from kcache_model.rules import BrokenRule
from kcache_model.verdict import Status

from ..engine.execution import Execution, Mark, Problem
from ..engine.happens_before import HappensBefore
from ..engine.orders import Shape, marks_by_need, marks_in_order
from ..engine.scheduling import HUB
from ..engine.strategy import Ending
from ..engine.waits import standstill_text
from .giving_up import GaveUp, given_up_in
from .history import calls_of
from .moments import Moments, at_their_moments, moments_of_calls
from .still_waiting import Standstill, of_ended_calls, standstill_of, without_ends
from .unexplained import Orders, Unexplained, all_orders, first_unexplained, overlap

_MOST_ORDERS: Final = 100
"""Most orders of beginnings and ends that are judged one by one: two threads of two calls have 70."""

_UNJUDGED: Final = Problem(FindingKind.DIVERGENCE, "")


class CallJudge:
    """Judge of the executions of one program.

    Args:
        specification: the specification of the object.
        program: the calls of the threads.
        read_back: returns the operations that read the object back, for their outcomes.
        strict_errors: require the same errors as the specification, not just any error.
        text: returns the text of an operation for a sentence.
        keeps_lock: whether a call acquires a lock for its thread that another call must release.
        decide: decides about a history in which calls are pending, because they were cancelled.

    Attributes:
        monitor: decides which orders of the calls explain their outcomes; it identifies calls by their positions in the
            threads of the program, one thread after another.
        proof_obstacles: reasons why some execution could not be judged.
        pulse: called from time to time, because a judgement may take seconds.
    """

    def __init__(
        self,
        specification: Specification[Any, Any],
        program: CallProgram[Any],
        read_back: Callable[[tuple[Outcome, ...]], Sequence[Any]],
        *,
        strict_errors: bool = False,
        text: Callable[[Any], str] = str,
        keeps_lock: Callable[[Any], bool] = lambda _: False,
        decide: Callable[[Sequence[Call[Any]]], CallsVerdict] = lambda _: CallsVerdict(Status.OK),
    ) -> None:
        self._specification = specification
        self._strict_errors = strict_errors
        self._text = text
        self._keeps_lock = keeps_lock
        self._decide = decide
        self._read_back = read_back
        self._program = program
        self._operations = [operation for thread in program.threads for operation in thread]
        self._called = [
            as_called(specification, operation, number)
            for number, thread in enumerate(program.threads)
            for operation in thread
        ]
        self._numbers: dict[Any, int] = {}
        self._initial = specification.initial(program)
        self.monitor = Monitor(specification.effects, self._initial, self._called, self._agrees)
        self._plain = Orders(self.monitor, self.monitor.start)
        self.proof_obstacles: dict[str, None] = {}
        self.pulse: Callable[[], None] = lambda: None
        self._verdicts: dict[object, Problem | None] = {}
        self._looked_through: dict[tuple[Outcome, ...], list[BrokenRule]] = {}
        self._ended: Counter[tuple[tuple[Outcome, ...], ...]] = Counter()
        self._stuck: Counter[tuple[Any, ...]] = Counter()
        self._waiting: frozenset[int] = frozenset()
        self._as_far: dict[tuple[CallProgram[Any], frozenset[int]], CallJudge] = {}

    @property
    def calls(self) -> Counter[tuple[str, str]]:
        """(operation, its end) -> number of calls in the judged executions; ends: ``ok``, an error, ``WAITED``."""
        counts: Counter[tuple[str, str]] = Counter()
        for outcomes, count in self._ended.items():
            for operations, ended in zip((self._program.prefix, *self._program.threads), outcomes, strict=False):
                for operation, outcome in zip(operations, ended, strict=False):
                    counts[str(operation.name), "ok" if outcome.error is None else str(outcome.error)] += count
        for waiting, count in self._stuck.items():
            for operation in waiting:
                counts[str(operation.name), WAITED] += count
        return counts

    def judge(self, execution: Execution[Outcome], order: HappensBefore | None = None) -> Problem | None:
        """Return the violation that the execution shows, or ``None``; see :class:`~..engine.execution.Judge`."""
        self._ended[execution.prefix, *map(tuple, execution.outcomes)] += 1
        if execution.ending is Ending.DEADLOCK:
            begun = zip(self._program.threads, map(len, execution.outcomes), strict=False)
            self._stuck[tuple(own[ended] for own, ended in begun if ended < len(own))] += 1
        if execution.ending in (Ending.DEADLOCK, Ending.ENDLESS) and self._is_lonely_wait(execution):
            return None
        if execution.ending is Ending.DEADLOCK and self._is_kept(execution):
            return None
        if execution.ending is Ending.DEADLOCK and execution.problem is not None and not execution.waits:
            if self._is_alone or not self._may_wait:
                return execution.problem
            self.proof_obstacles[STILL_WAITING] = None  # a call before or after the threads waits
            return None
        is_stuck = execution.ending is Ending.DEADLOCK or (
            execution.ending is Ending.ENDLESS and execution.problem is not None
        )
        if is_stuck and not self._is_alone and (self._may_wait or given_up_in(execution)):
            return self._judge_standstill(execution, order)
        if execution.problem is not None:
            return execution.problem
        if execution.ending is Ending.DEADLOCK:
            return _deadlock(execution)
        if execution.failures:
            return Problem(FindingKind.EXCEPTION, f"a thread of the target ended with {execution.failures[0]}")
        if execution.ending is not Ending.COMPLETE:
            return None
        outcomes = tuple(outcome for thread in execution.outcomes for outcome in thread)
        if CANCELLED in outcomes:
            return self._judge_with_cancelled(execution, outcomes)
        return self._judge_calls(execution, outcomes, order)

    def _judge_standstill(self, execution: Execution[Outcome], order: HappensBefore | None) -> Problem | None:
        """Judge an execution at whose end calls waited, or looked again and again, as some order of them allows."""
        outcomes = tuple(itertools.chain.from_iterable(execution.outcomes))
        if CANCELLED in outcomes:
            return self._judge_with_cancelled(execution, outcomes)
        is_begun = len(execution.outcomes) == len(self._program.threads)
        if not is_begun or getattr(self._specification, "starts_threads", False):
            self.proof_obstacles[STILL_WAITING] = None
            return None
        standstill = standstill_of(self._program, execution)
        key = standstill.program, standstill.waiting
        if key not in self._as_far:
            self._as_far[key] = self._of_part(standstill)
        outcomes = tuple(itertools.chain.from_iterable(standstill.execution.outcomes))
        problem = self._as_far[key]._judge_calls(standstill.execution, outcomes, order)
        return None if problem is None else replace(problem, order=of_ended_calls(problem.order, standstill))

    def _of_part(self, standstill: Standstill) -> CallJudge:
        """Return a judge of a part of the program at whose end calls wait."""
        judge = CallJudge(
            self._specification, standstill.program, self._read_back, strict_errors=self._strict_errors, text=self._text
        )
        judge._waiting = standstill.waiting
        judge.proof_obstacles, judge.pulse = self.proof_obstacles, self.pulse
        return judge

    def _judge_calls(
        self, execution: Execution[Outcome], outcomes: tuple[Outcome, ...], order: HappensBefore | None
    ) -> Problem | None:
        shape = marks_in_order(execution) if order is None else marks_by_need(execution, order)
        if self._waiting:
            shape = without_ends(shape, self._waiting)
        given_up = given_up_in(execution)
        observed = (shape, outcomes, execution.final, execution.prefix, given_up)
        verdict = self._verdicts.get(observed, _UNJUDGED)
        if verdict is _UNJUDGED:
            verdict = self._verdicts[observed] = self._judge(execution, outcomes, shape, given_up)
        if verdict is not None and self._is_explained_in_time(execution, outcomes, shape, given_up):
            verdict = None
        return verdict or self._broken(execution)

    def _judge_with_cancelled(self, execution: Execution[Outcome], outcomes: tuple[Outcome, ...]) -> Problem | None:
        """Judge an execution in which a call was cancelled, by the order in which the calls happened."""
        observed = (marks_in_order(execution), outcomes, execution.final, execution.prefix)
        if observed not in self._verdicts:
            is_over = execution.ending is not Ending.COMPLETE
            final = () if is_over else self._read_back(execution.final)
            calls = calls_of(self._program, execution, final, with_waiting=is_over)
            verdict = self._decide(calls)
            no_earlier = getattr(self._specification, "no_earlier", None)
            if verdict.status is Status.VIOLATION and execution.timeouts and no_earlier is not None:
                specification = self._specification
                called = [replace(one, operation=as_called(specification, one.operation, one.thread)) for one in calls]
                verdict = self._decide(tuple(at_their_moments(execution, called, no_earlier)))
            kind = FindingKind.EXCEPTION if verdict.is_error else FindingKind.NONLINEARIZABLE
            problem = execution.problem or _deadlock(execution) if is_over else Problem(kind, verdict.reason)
            self._verdicts[observed] = problem if verdict.status is Status.VIOLATION else None
            if verdict.status is Status.UNKNOWN:
                self.proof_obstacles[verdict.reason] = None
        return self._verdicts[observed] or self._broken(execution)

    def _is_lonely_wait(self, execution: Execution[Outcome]) -> bool:
        """Whether the only call waits, as the specification allows, for another call and not for a lock of its own."""
        is_for_another = bool(execution.waits) and not any(wait.is_for_itself for wait in execution.waits)
        polls = execution.ending is Ending.ENDLESS
        return self._is_alone and (polls or is_for_another) and self._may_wait

    @property
    def _is_alone(self) -> bool:
        """Whether the program has one call."""
        return len(self._operations) == 1 and not self._program.prefix

    @functools.cached_property
    def _may_wait(self) -> bool:
        """Whether some order of the calls ends with a call that waits for ever."""
        return may_wait_for_ever(self._specification, self._program, self._is_late)

    def _is_late(self) -> bool:
        """Show a sign of life, as there may be thousands of orders. They are all tried."""
        self.pulse()
        return False

    def _is_kept(self, execution: Execution[Outcome]) -> bool:
        """Whether a call waits for a lock that calls of an ended thread keep, as these calls also do without others.

        The deadlock is then a fault of the program, not of the class. If a call that does not normally keep a lock has
        kept it, the call has failed to release it, and the deadlock is reported.
        """
        holders = (wait.holder for wait in execution.waits if wait.is_kept and wait.holder is not None)
        calls = (
            self._program.prefix if number == HUB else self._program.threads[number]
            for number in holders
            if number < len(self._program.threads)
        )
        return any(map(self._keeps_lock, itertools.chain.from_iterable(calls)))

    def _judge(
        self, execution: Execution[Outcome], outcomes: tuple[Outcome, ...], shape: Shape, given_up: tuple[GaveUp, ...]
    ) -> Problem | None:
        expect = getattr(self._specification, "expect", None)
        if expect is not None:
            expect(self._called[: len(self._operations)], self._read_back(execution.final))
        problem = self._judge_as_known(execution, outcomes, shape, given_up)
        if problem is None or self._reads_explain(execution, outcomes, shape):
            return None
        is_by_callback = any(map(calls_back, (*self._program.prefix, *self._operations)))
        if problem.kind in (FindingKind.NONLINEARIZABLE, FindingKind.DEADLOCK) and is_by_callback:
            self.proof_obstacles[CALLED_BACK] = None
            return None
        if problem.wrong_call is not None and self._may_be_refused(execution, problem.wrong_call):
            self.proof_obstacles[REFUSED] = None
            return None
        if not getattr(self._specification, "look_again", lambda _: False)(self._called):
            return problem
        self.monitor = Monitor(self._specification.effects, self._initial, self._called, self._agrees)
        self._plain = Orders(self.monitor, self.monitor.start)
        return self._judge_as_known(execution, outcomes, shape, given_up)

    def _may_be_refused(self, execution: Execution[Outcome], wrong: int) -> bool:
        """Whether a call may have been refused while several others ran functions of their callers."""
        calls = [
            Call(thread, operation, begun, ended, outcome)
            for thread, outcomes in enumerate(execution.outcomes)
            for operation, (begun, ended), outcome in zip(
                self._program.threads[thread], execution.spans[thread], outcomes, strict=False
            )
        ]
        return may_be_refused(calls, calls[wrong])

    def _judge_as_known(
        self, execution: Execution[Outcome], outcomes: tuple[Outcome, ...], shape: Shape, given_up: tuple[GaveUp, ...]
    ) -> Problem | None:
        unexplained = self._first_unexplained(self._plain, execution, outcomes, shape)
        try:
            if unexplained is not None and getattr(self._specification, "starts_threads", False):
                unexplained = self._first_unfit(execution, outcomes, shape, given_up)
            elif unexplained is not None and hasattr(self._specification, "begin"):
                # Most calls do not wait. If no order of whole calls explains them, they may begin while others wait.
                unexplained = self._first_unexplained_waiting(execution, outcomes, shape, given_up)
        except TooManyWaysError as error:
            self.proof_obstacles[str(error)] = None
            return None
        if unexplained is not None and hasattr(self._specification, "may_be_slow"):
            slowly = Monitor(WaitsMayBeSlow(self._specification).effects, self._initial, self._called, self._agrees)
            if self._first_unexplained(Orders(slowly, slowly.start), execution, outcomes, shape) is None:
                self.proof_obstacles[SLOW_WAITS] = None
                return None
        if unexplained is not None:
            if unexplained.call is None and self._waiting:
                return replace(execution.problem or _deadlock(execution), order=unexplained.order)
            if not unexplained.order:
                return Problem(FindingKind.DIVERGENCE, "a call before the threads start returns a wrong result")
            if unexplained.call is not None:
                return self._unexplained(outcomes, unexplained.call, unexplained.order)
            what = "the state after the threads have ended matches no sequential order of their calls"
            return Problem(FindingKind.NONLINEARIZABLE, what, unexplained.order)
        return None

    def _broken(self, execution: Execution[Outcome]) -> Problem | None:
        """Return the first invariant that does not hold after the threads have ended, or ``None``."""
        if execution.final not in self._looked_through:
            self._looked_through[execution.final] = execution.broken()
        broken = self._looked_through[execution.final]
        if broken:
            return Problem(FindingKind.INVARIANT, f"after the threads had ended: {broken[0]}", rule=broken[0].rule)
        return None

    def _is_explained_in_time(
        self, execution: Execution[Outcome], outcomes: tuple[Outcome, ...], shape: Shape, given_up: tuple[GaveUp, ...]
    ) -> bool:
        """Whether an order explains the calls if each call reads the clock at its moment in the execution.

        A sequence of calls without pauses may end earlier than the execution, in which consecutive waits of different
        threads add up. Outcomes that depend on the clock, such as the tokens of a rate limiter, then differ.
        """
        if not execution.timeouts or not hasattr(self._specification, "no_earlier"):
            return False
        judge = self._at(moments_of_calls(execution))
        if judge._first_unexplained(judge._plain, execution, outcomes, shape) is None:
            return True
        if not hasattr(self._specification, "begin"):
            return False
        try:
            return judge._first_unexplained_waiting(execution, outcomes, shape, given_up) is None
        except TooManyWaysError as error:
            self.proof_obstacles[str(error)] = None
            return True

    def _at(self, moments: Moments) -> CallJudge:
        """Return a judge of the same program whose calls begin no earlier than at these moments."""
        read_back = self._read_back
        no_earlier: Callable[..., Any] = self._specification.no_earlier  # type: ignore[attr-defined]
        called = [no_earlier(call, *span) for call, span in zip(self._called, moments.calls, strict=False)]
        return self._calling(called, lambda final: [no_earlier(read, *moments.end) for read in read_back(final)])

    def _reads_explain(self, execution: Execution[Outcome], outcomes: tuple[Outcome, ...], shape: Shape) -> bool:
        """Whether an order explains the calls if reads may change something in spite of their names."""
        as_write, read_back = getattr(self._specification, "as_write", None), self._read_back
        if as_write is None:
            return False
        called = [*map(as_write, self._called[: len(self._operations)])]
        judge = self._calling(called, lambda final: [*map(as_write, read_back(final))])
        return judge._first_unexplained(judge._plain, execution, outcomes, shape) is None

    def _calling(self, called: list[Any], read_back: Callable[[tuple[Outcome, ...]], Sequence[Any]]) -> CallJudge:
        """Return a judge of the same program whose calls and last reads have another form."""
        judge = copy.copy(self)
        judge._called, judge._read_back, judge._numbers = called, read_back, {}
        judge.monitor = Monitor(self._specification.effects, self._initial, called, self._agrees)
        judge._plain = Orders(judge.monitor, judge.monitor.start)
        return judge

    def _first_unfit(
        self, execution: Execution[Outcome], outcomes: tuple[Outcome, ...], shape: Shape, given_up: tuple[GaveUp, ...]
    ) -> Unexplained | None:
        """Return the first order that nothing explains, even if threads of the class go on at any moment.

        Raises:
            TooManyWaysError: there are too many orders, or too many moments at which the threads may go on.
        """
        for count, order in enumerate(all_orders(shape)):
            if count == _MOST_ORDERS:
                raise TooManyWaysError("calls may overlap in too many ways; not all were tried")
            unexplained = self._first_unexplained(self._plain, execution, outcomes, order)
            if unexplained is None or self._fits(execution, order, given_up):
                continue
            if self._first_unexplained_waiting(execution, outcomes, order, given_up) is not None:
                return unexplained
        return None

    def _fits(self, execution: Execution[Outcome], order: tuple[Mark, ...], given_up: tuple[GaveUp, ...]) -> bool:
        """Whether an order explains the outcomes if threads of the class itself go on at any moment."""
        specification: Any = self._specification
        calls = calls_of(self._program, execution, self._read_back(execution.final), order)
        begun = 2 * len(execution.prefix)
        # A call that has given up because another call was slow may have had no effect.
        gone = [gave_up.call for gave_up in given_up if not (gave_up.tells and self._is_usual(execution, gave_up.call))]
        without = {begun + order.index(call + 1) for call in gone}
        ways = [calls, [call for call in calls if call.invoked not in without]] if without else [calls]
        return any(
            specification.fits_own_threads(
                way,
                self._agrees,
                passes=len(execution.timeouts),
                idle_at=(begun, begun + len(order)),  # before the threads start, and before the object is read back
                pulse=self.pulse,
            )
            for way in ways
        )

    def _is_usual(self, execution: Execution[Outcome], call: int) -> bool:
        """Whether the call may have this outcome as a whole call, in a state that was considered so far."""
        outcomes = list(itertools.chain.from_iterable(execution.outcomes))
        return any(self._agrees(outcomes[call], expected) for expected in self.monitor.expected(call))

    def _first_unexplained_waiting(
        self, execution: Execution[Outcome], outcomes: tuple[Outcome, ...], shape: Shape, given_up: tuple[GaveUp, ...]
    ) -> Unexplained | None:
        specification: Any = self._specification
        unexplained = None
        for is_patient in (False, True):
            monitor = WaitingMonitor(
                specification,
                self._initial,
                self._called,
                outcomes,
                self._agrees,
                is_patient=is_patient,
                given_up={gave_up.call: gave_up.slow for gave_up in given_up},
                telling={gave_up.call for gave_up in given_up if gave_up.tells},
                pulse=self.pulse,
            )
            unexplained = self._first_unexplained(Orders(monitor, monitor.start), execution, outcomes, shape)
            if unexplained is None:
                break
        return unexplained

    def _first_unexplained(
        self, orders: Orders, execution: Execution[Outcome], outcomes: tuple[Outcome, ...], shape: Shape
    ) -> Unexplained | None:
        start = orders.starts.get(execution.prefix)
        if start is None:
            start = self.alone(orders.start, self._program.prefix, execution.prefix, orders.monitor)
            orders.starts[execution.prefix] = start
        # If the specification is the class itself, orders without overlap are not judged: the class would disagree with
        # itself. If the class starts threads, they are judged: its threads may overlap a call.
        is_of_target = getattr(self._specification, "is_of_target", False)
        starts_threads = getattr(self._specification, "starts_threads", False)
        if start == IMPOSSIBLE:
            return None if is_of_target else Unexplained((), None)
        return first_unexplained(
            orders.monitor,
            start,
            shape,
            outcomes,
            lambda end: self._explains(orders, end, execution.final),
            overlap if is_of_target and not starts_threads else lambda _: True,
        )

    def _unexplained(self, outcomes: tuple[Outcome, ...], call: int, order: tuple[Mark, ...]) -> Problem:
        outcome, text = outcomes[call], self._text(self._operations[call])
        error = outcome.error
        is_closed_set = isinstance(error, enum.StrEnum)
        if error == ErrorKind.OTHER or not (error is None or is_closed_set or self._may_fail(call)):
            return Problem(FindingKind.EXCEPTION, f"{text} raised {outcome.message}", order, wrong_call=call)
        return Problem(FindingKind.NONLINEARIZABLE, unexplained_text(text), order, wrong_call=call)

    def _may_fail(self, call: int) -> bool:
        return any(expected.error is not None for expected in self.monitor.expected(call))

    def _explains(self, orders: Orders, at: int, final: tuple[Outcome, ...]) -> bool:
        if self._waiting:
            # Two calls that wait on their own may let each other return.
            is_alone = len(self._waiting) == 1 or not hasattr(self._specification, "begin")
            return (is_alone or isinstance(orders.monitor, WaitingMonitor)) and orders.monitor.may_all_wait(
                at, self._waiting
            )
        key = (at, final)
        if key not in orders.finals:
            orders.finals[key] = self.alone(at, self._read_back(final), final, orders.monitor) != IMPOSSIBLE
        return orders.finals[key]

    def alone(
        self,
        at: int,
        operations: Sequence[Any],
        outcomes: Sequence[Outcome],
        monitor: Monitor[Any, Any, Any] | None = None,
    ) -> int:
        """Return the number of the set of configurations after a sequence of calls that overlap no other call."""
        monitor = monitor or self.monitor
        for operation, outcome in zip(operations, outcomes, strict=True):
            number = self._numbers.get(operation)
            if number is None:
                number = self._numbers[operation] = len(self._called)
                self._called.append(operation)
            at = monitor.returned(monitor.invoked(at, number), number, outcome)
        return at

    def _agrees(self, observed: Outcome, expected: Outcome) -> bool:
        if observed.waits:  # the call has not ended
            return expected == ANYTHING
        return observed.agrees_with(expected, strict_errors=self._strict_errors)


def _deadlock(execution: Execution[Outcome]) -> Problem:
    if not execution.waits:
        return Problem(FindingKind.DEADLOCK, execution.failures[0] if execution.failures else "no thread can go on")
    return Problem(FindingKind.DEADLOCK, standstill_text(execution.waits))
