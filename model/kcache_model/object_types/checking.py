"""Linearizability check: whether some order of the calls of several threads on an object explains their outcomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from ..anomaly import Anomaly
from ..history import PREFIX_THREAD, Call
from ..linearizability import SearchBudget
from ..linearizability.search import search_linearization
from ..linearizability.waiting import TooManyWaysError, are_explained
from ..outcomes import ANYTHING, WAITS, ErrorKind, Outcome
from ..render import no_order_text
from ..verdict import Status
from .callbacks import Behaviour, Callback
from .method_call import Form, MethodCall
from .specification import SLOW_WAITS, STILL_WAITING, Specification, States, WaitsMayBeSlow, as_called, follow

CALLED_BACK: Final = "a callback calls the object in the middle of a call, so this call need not be one step"
"""Reason for which such results are no violation: a class may run callbacks without its lock."""
REFUSED: Final = "several calls run functions of their callers, and another one may have been refused meanwhile"
WAITS_IN_VAIN: Final = "a call waits forever although every order of the calls lets it return"
_NANOSECONDS: Final = 1e9
"""Nanoseconds in a second."""


@dataclass(frozen=True)
class CallsVerdict:
    """The verdict on the calls on one object.

    Attributes:
        status: OK, VIOLATION, or UNKNOWN if the budget ran out or the outcome cannot be decided.
        reason: why no order explains the calls, or why the status is UNKNOWN.
        wrong: the call that no order explains.
        expected: the outcome of that call after the longest order that was found.
        order: the positions of the calls in that order.
        shown: the calls that are impossible together, if these are only some of the calls; the positions in ``order``
            count these calls then. Empty if they are all calls.
        core: the calls whose outcomes contradict each other, if the decider names several.
        anomaly: the class of the violation, if it is known.
    """

    status: Status
    reason: str = ""
    wrong: Call[Any] | None = None
    expected: Outcome | None = None
    order: tuple[int, ...] = ()
    shown: tuple[Call[Any], ...] = ()
    core: tuple[Call[Any], ...] = ()
    anomaly: Anomaly | None = None

    @property
    def accused(self) -> tuple[Call[Any], ...]:
        """The calls that no order explains: ``core``, or else ``wrong``."""
        return self.core or (() if self.wrong is None else (self.wrong,))

    @property
    def is_error(self) -> bool:
        """Whether the wrong call raised an exception although it should have returned."""
        if any(call.outcome is not None and call.outcome.error is ErrorKind.OTHER for call in self.core):
            return True
        raises = self.wrong is not None and self.wrong.outcome is not None and self.wrong.outcome.error is not None
        return raises and self.expected is not None and self.expected.error is None


def check_calls(
    specification: Specification[Any, Any],
    initial: Any,
    calls: Sequence[Call[Any]],
    *,
    strict_errors: bool = False,
    budget: SearchBudget | None = None,
    created: int | None = None,
) -> CallsVerdict:
    """Check whether some order of the calls, each between its invocation and its response, explains all outcomes.

    Args:
        specification: the specification of the object.
        initial: the state of the object before the first call.
        calls: the observed calls. One that has not returned, with the outcome ``WAITS``, must wait after all others.
        strict_errors: require exactly the errors of the specification.
        budget: the limit of the search, which is exponential in the number of calls that overlap.
        created: when the object was created, if the times of the calls are nanoseconds of a clock. Then the outcome of
            a call may depend on the moment at which it takes effect; its invocation and its response are both tried.
    """
    calls = [
        call if operation is call.operation else replace(call, operation=operation)
        for call in calls
        for operation in [as_called(specification, call.operation, call.thread)]
    ]

    def checked() -> CallsVerdict:
        return _checked(specification, initial, calls, strict_errors=strict_errors, budget=budget, created=created)

    verdict = checked()
    if verdict.status is not Status.VIOLATION:
        return verdict
    if not verdict.is_error and any(calls_back(call.operation) for call in calls):
        return CallsVerdict(Status.UNKNOWN, CALLED_BACK)
    if verdict.wrong is not None and may_be_refused(calls, verdict.wrong):
        return CallsVerdict(Status.UNKNOWN, REFUSED)
    look_again = getattr(specification, "look_again", lambda _: False)
    return checked() if look_again([call.operation for call in calls]) else verdict


def _checked(
    specification: Specification[Any, Any],
    initial: Any,
    calls: Sequence[Call[Any]],
    *,
    strict_errors: bool,
    budget: SearchBudget | None,
    created: int | None,
) -> CallsVerdict:
    following = _Following(specification)

    def agrees(observed: Outcome, expected: Outcome) -> bool:
        if observed.waits:
            return expected == ANYTHING
        return not expected.waits and observed.agrees_with(expected, strict_errors=strict_errors)

    if any(call.outcome is not None and call.outcome.waits for call in calls):
        return _checked_waiting(specification, initial, calls, agrees)
    result = search_linearization(following, (initial,), calls, budget or SearchBudget(), agrees)
    kept = _with_reads_kept(specification, calls)
    if result.status is Status.VIOLATION and kept:
        again = search_linearization(following, (initial,), kept, budget or SearchBudget(), agrees)
        if again.status is Status.OK:
            return CallsVerdict(Status.OK)
    try:
        if result.status is Status.VIOLATION and _is_excused(specification, initial, calls, agrees):
            return CallsVerdict(Status.OK)
        is_timed = created is not None and hasattr(specification, "no_earlier")
        if result.status is Status.VIOLATION and is_timed and getattr(specification, "is_timed", True):
            assert created is not None
            timed = [_timed(specification, call, created) for call in calls]
            again = search_linearization(following, (initial,), timed, budget or SearchBudget(), agrees)
            if again.status is not Status.VIOLATION or _is_excused(specification, initial, timed, agrees):
                return CallsVerdict(Status.UNKNOWN if again.status is Status.UNKNOWN else Status.OK)
    except TooManyWaysError as error:
        return CallsVerdict(Status.UNKNOWN, str(error))
    if result.status is Status.VIOLATION and hasattr(specification, "may_be_slow"):
        slowly = _Following(WaitsMayBeSlow(specification))
        if search_linearization(slowly, (initial,), calls, budget or SearchBudget(), agrees).status is Status.OK:
            return CallsVerdict(Status.UNKNOWN, SLOW_WAITS)
    if result.status is not Status.VIOLATION:
        reason = (
            f"the search gave up after {result.steps:,} steps; its longest order has {len(result.order):,} "
            f"of {len(calls):,} calls. Use a larger budget, or judge shorter histories"
        )
        return CallsVerdict(result.status, reason * (result.status is Status.UNKNOWN))
    states: States = (initial,)
    taken = set(result.order)
    for position in result.order:
        states, _ = following.respond(states, calls[position].operation, calls[position].outcome)
    left = [call for position, call in enumerate(calls) if position not in taken and call.returned is not None]
    wrong = min(left, key=lambda call: call.returned or 0)
    _, expected = follow(specification, states, wrong.operation, wrong.outcome)
    order = [calls[position] for position in result.order]
    return CallsVerdict(Status.VIOLATION, _reason(order, wrong, expected), wrong, expected, result.order)


def _checked_waiting(
    specification: Any, initial: Any, calls: Sequence[Call[Any]], agrees: Callable[[Outcome, Outcome], bool]
) -> CallsVerdict:
    """Check a history at whose end calls wait."""
    if getattr(specification, "starts_threads", False):
        return CallsVerdict(Status.UNKNOWN, STILL_WAITING)
    calls = [call for call in calls if call.returned is not None or call.outcome in (None, WAITS)]
    if hasattr(specification, "begin"):
        calls = [_by_thread(specification, call) if call.outcome == WAITS else call for call in calls]
    try:
        is_right = are_explained(specification, initial, calls, agrees)
    except TooManyWaysError as error:
        return CallsVerdict(Status.UNKNOWN, str(error))
    return CallsVerdict(Status.OK) if is_right else CallsVerdict(Status.VIOLATION, WAITS_IN_VAIN)


def _by_thread(specification: Any, call: Call[Any]) -> Call[Any]:
    """The call as one of a thread: what reads the object back may wait, too."""
    return replace(call, operation=specification.as_called(call.operation, max(call.thread, PREFIX_THREAD)))


def calls_back(operation: Any) -> bool:
    """Whether a callback that a call passes calls the object again."""
    return any(callback.behaviour is Behaviour.CALLS_BACK for callback in callbacks_of(operation))


def callbacks_of(operation: Any) -> list[Callback]:
    """The callbacks that a call passes."""
    call = getattr(operation, "operation", operation)
    passed = call.arguments if isinstance(call, MethodCall) else ()
    return [value for value in passed if isinstance(value, Callback)]


def may_be_refused(calls: Sequence[Call[Any]], wrong: Call[Any]) -> bool:
    """Whether a call may have been refused, or has told how many are under way, while others run functions.

    A class may count the calls that run a function of their caller, and raise an exception if there are too many. If
    only one such call is open, a replay finds out. No replay has calls of several threads that are paused in their
    functions.

    Args:
        calls: all calls.
        wrong: the call whose outcome nothing explains.
    """
    operation = getattr(wrong.operation, "operation", wrong.operation)
    raised = wrong.outcome is not None and wrong.outcome.error is not None
    if not (raised or getattr(operation, "form", None) is Form.READ):
        return False
    overlapping = (call for call in calls if call is not wrong and not (call.precedes(wrong) or wrong.precedes(call)))
    return len({call.thread for call in overlapping if callbacks_of(call.operation)}) > 1


def _timed(specification: Any, call: Call[Any], created: int) -> Call[Any]:
    """The call, which begins either when it was invoked or when it returned, in seconds after ``created``."""
    moments = ((at - created) / _NANOSECONDS for at in (call.invoked, call.returned) if at is not None)
    return replace(call, operation=specification.no_earlier(call.operation, *moments))


def _with_reads_kept(specification: Any, calls: Sequence[Call[Any]]) -> list[Call[Any]]:
    """The calls, with reads as writes if the specification allows that they change something; empty if none differs."""
    if all(call.operation.is_write for call in calls) or not hasattr(specification, "as_write"):
        return []
    kept = [replace(call, operation=specification.as_write(call.operation)) for call in calls]
    changed = (one.operation.is_write != call.operation.is_write for one, call in zip(kept, calls, strict=True))
    return kept if any(changed) else []


def _is_excused(
    specification: Any, initial: Any, calls: Sequence[Call[Any]], agrees: Callable[[Outcome, Outcome], bool]
) -> bool:
    """Whether calls that no order of whole calls explains are correct nevertheless.

    Calls without overlap are themselves an order of whole calls. If the specification is the class itself, the class
    then disagrees with itself, and threads are not the cause. This excuse does not hold if the class starts threads of
    its own, because these may overlap any call.
    """
    is_alone = not (_overlap(calls) or getattr(specification, "starts_threads", False))
    if getattr(specification, "is_of_target", False) and is_alone:
        return True
    calls = [call for call in calls if call.returned is not None or call.outcome is None]  # others have had no effect
    if hasattr(specification, "fits_own_threads") and specification.fits_own_threads(calls, agrees):
        return True
    return hasattr(specification, "begin") and are_explained(specification, initial, calls, agrees)


def _overlap(calls: Sequence[Call[Any]]) -> bool:
    """Whether some call began before an earlier call had returned."""
    latest = float("-inf")
    for call in sorted(calls, key=lambda call: call.invoked):
        if call.invoked < latest:
            return True
        latest = max(latest, float("inf") if call.returned is None else call.returned)
    return False


@dataclass(frozen=True, slots=True)
class _Following:
    """The specification as the search calls it: with sets of states, and with the observed outcome of each call."""

    specification: Specification[Any, Any]

    def respond(self, states: States, operation: Any, observed: Outcome | None, /) -> tuple[States, Outcome]:
        if observed is None:  # a pending call: any of its effects may have happened
            found = [effect for state in states for effect in self.specification.effects(state, operation)]
            if found:
                return tuple(dict.fromkeys(after for after, _ in found)), found[0][1]
        return follow(self.specification, states, operation, observed)


def _reason(order: Sequence[Call[Any]], wrong: Call[Any], expected: Outcome) -> str:
    return no_order_text(wrong, order, expected, str)
