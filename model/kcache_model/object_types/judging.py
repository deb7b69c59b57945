"""Judgement of long histories: part by part, with quick algorithms where possible, and violations cut to few calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeAlias

from ..history import Call
from ..linearizability import SearchBudget
from ..linearizability.core import smaller_part
from ..outcomes import Outcome
from ..verdict import Status
from .checking import CallsVerdict, check_calls
from .plain import Applies, Functional
from .specification import Specification

Calls: TypeAlias = Sequence[Call[Any]]

_MOST_SHOWN: Final = 12
"""A violation of at most this many calls is shown with all its calls."""

_MOST_OF_A_CORE: Final = 40

_CORE_SECONDS: Final = 2.0
_CORE_STEPS: Final = 20_000
"""Limits for the reduction of a core: seconds for the whole reduction, steps for the search on each candidate."""


class QuickCore(Protocol):
    """An algorithm that is quicker than a search."""

    def __call__(self, calls: Calls, /) -> Calls | None:
        """Return calls that no order explains, or no calls if some order explains all of them.

        ``None`` if the algorithm is not applicable to these calls.
        """
        ...


@dataclass(frozen=True)
class Judge:
    """The judge of the calls on one object.

    Attributes:
        specification: the specification of the object.
        initial: the state of the object before the first call.
        partition: the part of the object that an operation concerns, or ``None`` if it concerns the whole object. Parts
            are independent of each other, so each part is judged alone: A. Horn, D. Kroening, Faster Linearizability
            Checking via P-Compositionality (2015).
        quick_core: an algorithm to try before the search.
        simplify: for the calls on a part, a function that maps a state to the simplest state from which the same calls
            can be explained; ``None`` if no state can be simplified.
        strict_errors: require exactly the errors of the specification.
    """

    specification: Specification[Any, Any]
    initial: Any
    partition: Callable[[Any], Hashable] = lambda _: None
    quick_core: QuickCore = lambda _: None
    simplify: Callable[[Calls], Callable[[Any], Any] | None] = lambda _: None
    strict_errors: bool = False

    def judge(self, calls: Calls, budget: SearchBudget) -> CallsVerdict:
        """Check whether some order of the calls, each between its invocation and response, explains all outcomes."""
        if all(call.returned is None for call in calls):
            return CallsVerdict(Status.UNKNOWN, "the recording contains no finished call, or all of them failed")
        deadline = time.monotonic() + budget.seconds
        gave_up: CallsVerdict | None = None
        for part in self._parts(calls):
            left = replace(budget, seconds=max(deadline - time.monotonic(), 0.0))
            verdict = self._judge_part(part, left)
            if verdict.status is Status.VIOLATION:
                is_all = verdict.shown or len(part) == len(calls)
                return verdict if is_all else replace(verdict, shown=tuple(part))
            if verdict.status is Status.UNKNOWN:
                gave_up = gave_up or verdict
        return gave_up or CallsVerdict(Status.OK)

    def _judge_part(self, part: Calls, budget: SearchBudget) -> CallsVerdict:
        core = self.quick_core(part)
        if core is not None and not core:
            return CallsVerdict(Status.OK)
        is_short = len(part) <= _MOST_SHOWN
        if core is None:
            simpler = self._simpler(part)
            verdict = simpler._search(part, budget)
            if verdict.status is not Status.VIOLATION:
                return verdict
            if not is_short:
                return self._with_core(part, verdict, simpler)
        elif not is_short:
            core = sorted(core, key=lambda call: call.invoked)
            return replace(self._search(core, SearchBudget()), status=Status.VIOLATION, shown=tuple(core))
        return self._search(part, SearchBudget())

    def _search(self, calls: Calls, budget: SearchBudget) -> CallsVerdict:
        return check_calls(self.specification, self.initial, calls, strict_errors=self.strict_errors, budget=budget)

    def _simpler(self, part: Calls) -> Judge:
        """The judge that distinguishes fewer states; the expected outcome in its verdict may be less informative."""
        simplify = self.simplify(part)
        return self if simplify is None else replace(self, specification=_Simplified(self.specification, simplify))

    def _parts(self, calls: Calls) -> Iterator[Calls]:
        """The calls on each part, smallest part first; then all calls, if some concern the whole object."""
        parts: dict[Hashable, list[Call[Any]]] = {}
        for call in calls:
            parts.setdefault(self.partition(call.operation), []).append(call)
        whole = parts.pop(None, [])
        if not any(call.operation.is_write for call in whole):
            # Leave out reads of the whole object first: a history with fewer reads is only easier to explain.
            yield from sorted(parts.values(), key=len)
        if whole:
            yield calls

    def _with_core(self, part: Calls, verdict: CallsVerdict, simpler: Judge) -> CallsVerdict:
        """The verdict on a part, reduced to fewer calls that are impossible even if all other writes are pending."""
        deadline = time.monotonic() + _CORE_SECONDS

        def is_impossible(core: Calls) -> bool:
            left = deadline - time.monotonic()
            if left <= 0 or not core:
                return False
            told = simpler._search(_with_pending(core, part), SearchBudget(seconds=left, steps=_CORE_STEPS))
            return told.status is Status.VIOLATION

        core = smaller_part([call for call in part if call.returned is not None], is_impossible)
        all_told = _with_pending(core, part)
        again = self._search(all_told, SearchBudget(seconds=_CORE_SECONDS))
        if again.status is Status.VIOLATION:
            verdict = again
        else:
            all_told = list(part)
        order = [all_told[position] for position in verdict.order]
        shown = core
        if len(core) > _MOST_OF_A_CORE:
            shown = [*order[-_MOST_SHOWN + 1 :], *([] if verdict.wrong is None else [verdict.wrong])]
        shown = sorted(shown, key=lambda call: call.invoked)
        places = {id(call): place for place, call in enumerate(shown)}
        kept = tuple(places[id(call)] for call in order if id(call) in places)
        return replace(verdict, order=kept, shown=tuple(shown))


def judge_of(specification: Applies, *, strict_errors: bool = False) -> Judge:
    """The judge of a specification in one function, with the hints for :class:`Judge` that the specification has."""
    hints = {name: getattr(specification, name) for name in _HINTS if hasattr(specification, name)}
    return Judge(Functional(specification), specification.initial(), strict_errors=strict_errors, **hints)


_HINTS: Final = ("partition", "quick_core", "simplify")
"""Attributes of :class:`Judge` that a specification may define."""


@dataclass(frozen=True)
class _Simplified:
    """A specification with fewer states: each state is simplified."""

    whole: Specification[Any, Any]
    simplify: Callable[[Any], Any]

    def initial(self, program: Any) -> Any:
        return self.whole.initial(program)

    def effects(self, state: Any, operation: Any) -> Sequence[tuple[Any, Outcome]]:
        return [(self.simplify(after), outcome) for after, outcome in self.whole.effects(state, operation)]


def _with_pending(core: Calls, part: Calls) -> list[Call[Any]]:
    """``core``, and as pending calls all other writes of ``part`` that began before the last response of ``core``.

    If this history is impossible, ``part`` is impossible as well. A pending write in place of a finished write, or one
    read less, makes a history only easier to explain. A call that begins after all others returned explains nothing.
    """
    kept = {id(call) for call in core}
    last = max(call.returned for call in core if call.returned is not None)
    others = (call for call in part if id(call) not in kept and call.operation.is_write and call.invoked <= last)
    return [*core, *(replace(call, returned=None, outcome=None) for call in others)]
