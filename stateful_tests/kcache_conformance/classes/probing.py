"""Trials of a class's calls in one thread, before any comparison: detect calls that vary, wait, or always raise."""

from __future__ import annotations

import itertools
import time
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import Any, Final

from kcache_model.errors import TargetError
from kcache_model.object_types.method_call import RESULTS, Form, MethodCall
from kcache_model.object_types.plain_driver import has_identity, objects_in
from kcache_model.object_types.vocabulary import OperationTemplate, Vocabulary
from kcache_model.object_types.whole_blocks import with_receivers
from kcache_model.outcomes import Outcome
from kcache_model.thread_time import own_seconds

from .returned_objects import is_other_class, methods_of
from .sparing import Allowance, CountingTries, Sparing

Calls = tuple[MethodCall, ...]

_MOST_BEFORE: Final = 4
"""Calls after which a waiting call is tried: if virtual threads cannot decide it, each trial takes the patience."""
_MOST_VALUES: Final = 8
"""The most calls of a method with different values."""
_MOST_PAIRS: Final = 100
_CLOCK_TICKS: Final = (0.05, 1.1)
"""Seconds to wait for a tick of a clock: a clock of milliseconds, and a clock of whole seconds."""
_SLOW_SECONDS: Final = 0.15
"""A call that takes longer is left out: judging one small program makes dozens of calls within a budget of seconds."""
_LEAST_TRIED: Final = 4
"""The number of calls that are kept however slow all are: the quickest calls."""
_AT_ONCE_SECONDS: Final = 0.001
"""A call that takes no more virtual time than this does not wait. Each reading of the clock takes a microsecond."""
_MOST_READS: Final = 6
"""Calls that read the object at the end of each execution: each of them prolongs all executions."""
_MOST_WRITES: Final = 12
"""Calls that are made on other objects to see whether objects share state."""
_REPETITIONS: Final = 12
"""Repetitions of a call to see whether its result varies. A coin is alike in all of them once in 2,048 times."""


class Probed:
    """The calls of a vocabulary, tried in one thread.

    Args:
        templates: the vocabulary.
        tries: makes calls.
        allowance: the time limit, shared with other trials of the class.

    Attributes:
        first: the first call of each template -> its outcome on a new object, after the calls that it needs.
        unsteady: the names of the calls whose results vary: they return times or random numbers.
        untried: the names of the calls that were not tried because they are slow; they cannot be compared.
        objects: call -> the class of the object with an identity that it returns, also in a list, tuple or dict.
    """

    def __init__(self, templates: Vocabulary, tries: CountingTries, allowance: Allowance) -> None:
        self._templates = templates
        self._tries = _Completing(tries)
        self._allowance = allowance
        self._firsts = {template.name: next(template.smallest(0)) for template in templates}
        self._seconds: dict[MethodCall, float] = {}
        self.first: dict[MethodCall, Outcome] = {call: self._first_try(call) for call in self._firsts.values()}
        results = {
            call.name: self._tries.result(self._with_needed(call))
            for call, outcome in self.first.items()
            if not outcome.waits and outcome.error is None
        }
        self.objects = {name: _kind_in(result) for name, result in results.items() if has_identity(result)}
        self.untried: set[str] = set()
        self.unsteady = frozenset(self._unsteady())
        for call in self.first:  # a call comes after the calls whose results it takes
            if self.untried.intersection((*call.needs, *_begun(call))):
                self.untried.add(call.name)
        self._require_own_state()

    @property
    def returns_nothing(self) -> bool:
        """Whether no call returns anything but ``None``: then only exceptions and waits can be wrong."""
        return all(outcome.value is None for outcome in self.first.values())

    def endless(self) -> Iterator[str]:
        """Yield the calls that do not return on a new object, nor after or beside other calls."""
        before = self._writes
        earlier: list[Calls] = [before, *((one,) for one in before[:_MOST_BEFORE])]
        for call, outcome in self.first.items():
            if not outcome.waits or call.name in self.untried or self._succeeds_beside(call, self.first):
                continue
            if all(self._outcome((*calls, *self._with_needed(call))).waits for calls in _also_after(call, earlier)):
                yield call.name

    def refused(self) -> Iterator[tuple[str, str]]:
        """Yield the calls that raise with all values, even after two other calls, with the error."""
        calls: list[list[MethodCall]] = [
            list(itertools.islice(template.smallest(0), _MOST_VALUES)) for template in self._templates
        ]
        writes = [
            self._with_needed(call)
            for call, outcome in self.first.items()
            if call.is_write and call.form is not Form.EXIT and not outcome.waits and outcome.error is None
        ]
        writes.sort(key=lambda own: not own[-1].puts_in)
        both = ((*one, *other) for one, other in itertools.permutations(writes, 2))
        pairs = list(itertools.islice(both, _MOST_PAIRS))
        sparing = Sparing(self._tries, self._allowance)
        for own in calls:
            first = self.first[own[0]]
            if first.error is None:
                continue
            tried = itertools.chain(itertools.product(((), *writes), own), itertools.product(pairs, own[:1]))
            sequences = ((one, call) for earlier, call in tried for one in _also_after(call, [earlier]))
            outcomes = (sparing((*earlier, *self._with_needed(call))) for earlier, call in sequences)
            if all(outcome.error is not None for outcome in outcomes) and not self._succeeds_beside(own[0], own):
                yield own[0].name, str(first.error)

    def with_methods(self, kind: type, not_made: Collection[str] = ()) -> Iterator[tuple[str, str]]:
        """Yield each call that returns an object of another class, and which methods of this class are not called.

        Objects of ``kind`` itself are left out. The calls ``not_made`` are not called either.
        """
        called_on: dict[type, set[str]] = {}
        for call in self._firsts.values():
            if call.of is not None and call.name not in not_made and call.of.name in self.objects:
                called_on.setdefault(self.objects[call.of.name], set()).add(call.attribute)
        for name, of in self.objects.items():
            lacking = [method for method in methods_of(of) if method not in called_on.get(of, ())]
            if lacking and is_other_class(of, kind):
                some = ", ".join(lacking) + (" are" if lacking[1:] else " is")
                yield name, f"{of.__name__}: {some if of in called_on else 'its methods are'} not called"

    def reads(self) -> Iterator[str]:
        """Yield properties, and the calls without arguments that only read, as far as trials show.

        They return a value at once, and the same value again, and change the outcome of no other call. A call for which
        this is wrong does no harm: the specification makes it, too. Calls that return objects are not among them, as
        objects are compared by the calls that returned them.
        """
        of_object = [call for call in self.first if call.of is None]  # of a result, only if there is one
        of_object = [call for call in of_object if call.name not in self.untried and not self._takes_time(call)]
        yield from (call.name for call in of_object if call.form is Form.READ and self._returns_plain_data(call))
        steady = [call for call in of_object if call.name not in self.unsteady]
        sparing = Sparing(self._tries, self._allowance)
        count = 0
        for call in steady:
            outcome = self.first[call]
            is_plain = call.form is Form.CALL and call.is_write and not call.arguments and not call.needs
            if count == _MOST_READS or not is_plain or outcome.waits or outcome.value is None:
                continue
            if not self._returns_plain_data(call):
                continue
            before = [(), *((write,) for write in self._writes[:_MOST_BEFORE] if write != call)]
            others = [call, *(other for other in steady if other != call)]
            tried = itertools.product(before, map(self._with_needed, others))
            # What has a limit, such as `acquire` of a semaphore with two permits, waits or fails after some calls.
            often = (_is_same(sparing((*calls, *(call,) * _REPETITIONS)), sparing((*calls, call))) for calls in before)
            if all(often) and all(
                _is_same(sparing((*calls, call, *own)), sparing((*calls, *own))) for calls, own in tried
            ):
                count += 1
                yield call.name

    def _takes_time(self, call: MethodCall) -> bool:
        """Whether a call sleeps or waits until its timeout: real threads would do so each time they read the object."""
        stage = self._tries.stage(self._with_needed(call))
        return stage is not None and any(seconds > _AT_ONCE_SECONDS for seconds in stage.seconds)

    def _returns_plain_data(self, call: MethodCall) -> bool:
        outcome = self.first[call]
        if outcome.waits or outcome.error is not None:
            return False
        result = self._tries.result(self._with_needed(call))
        items = list(result) if isinstance(result, (list, set, frozenset)) else [result]
        items = [*result, *result.values()] if type(result) is dict else items
        return not any(map(has_identity, items))

    def _succeeds_beside(self, call: MethodCall, others: Iterable[MethodCall]) -> bool:
        """Whether a waiting call on a new object returns if another call is made meanwhile."""
        succeeds = getattr(self._tries, "succeeds_beside", None)
        return succeeds is not None and not call.needs and bool(succeeds(call, others))

    @cached_property
    def _writes(self) -> Calls:
        """The calls that may change anything and return, one of each kind."""
        return tuple(
            call
            for call, outcome in self.first.items()
            if call.is_write and not outcome.waits and not call.needs and call.form not in (Form.ENTER, Form.EXIT)
        )

    def _unsteady(self) -> Iterator[str]:
        before: Calls = ()
        for call in self._writes:
            if not self._outcome((*before, call)).waits:  # no call could follow a waiting call
                before = (*before, call)
        steady: list[MethodCall] = []
        quick_ones_first = sorted(self.first, key=self._seconds.__getitem__)
        least = {*quick_ones_first[:_LEAST_TRIED], RESULTS}
        for call in (*quick_ones_first, *([RESULTS] if self.objects else [])):
            is_slow = self._allowance.is_spent_twice or self._seconds.get(call, 0.0) > _SLOW_SECONDS
            if is_slow and call not in least:
                self.untried |= {call.name, *_begun(call)}
                continue
            own = self._with_needed(call)
            after = [(*before, *own), *((write, *own) for write in self._writes if not call.is_write)]
            is_late = self._allowance.is_spent  # then a result that varies rarely may go unnoticed
            is_unsteady = self._differs(own, 2 if is_late else _REPETITIONS)
            is_unsteady = is_unsteady or any(map(self._differs, after[: 1 if is_late else None]))
            if is_unsteady or self._varies(own):
                yield call.name
            else:
                steady.append(call)
        yield from self._drifting(steady)

    def _outcome(self, calls: Calls) -> Outcome:
        """Return the outcome of the last call, on a new object."""
        self._allowance.count += 1
        return self._tries(calls)

    def _first_try(self, call: MethodCall) -> Outcome:
        """Return the outcome on a new object, and record its seconds, measured after its imports have run."""
        outcome = self._timed(call)
        return outcome if outcome.waits or self._seconds[call] <= _SLOW_SECONDS else self._timed(call)

    def _timed(self, call: MethodCall) -> Outcome:
        began, waits = own_seconds(), self._tries.real_waits
        outcome = self._outcome(self._with_needed(call))
        # A wait on real threads takes as long as the patience; a call that polls on virtual threads may be slow.
        self._seconds[call] = 0.0 if self._tries.real_waits > waits else own_seconds() - began
        return outcome

    def _varies(self, calls: Calls) -> bool:
        """Whether a call varies on real threads, although its outcome on virtual threads is constant."""
        varies = getattr(self._tries, "varies", None)
        return varies is not None and bool(varies(calls))

    def _drifting(self, calls: Iterable[MethodCall]) -> Iterator[str]:
        """Yield the calls whose outcome has changed because time has passed: they read a clock."""
        first = {call: self.first[call] for call in calls if call in self.first and not self.first[call].waits}
        changed = [call for call in first if self._outcome(self._with_needed(call)) != first[call]]
        # Only these calls run from here on, in a fixed order: if objects share state, effects of other calls must not
        # look like passing time. Which calls come last depends on how quick they are.
        then = [self._round(changed) for _ in range(2)][-1]
        remaining = set(changed)
        for seconds in _CLOCK_TICKS:
            if not remaining:
                return
            time.sleep(seconds)
            now = self._round(changed)
            drifting = [call for call in changed if call in remaining and now[call] != then[call]]
            remaining.difference_update(drifting)
            yield from (call.name for call in drifting)

    def _round(self, calls: Iterable[MethodCall]) -> dict[MethodCall, Outcome]:
        return {call: self._outcome(self._with_needed(call)) for call in calls}

    def _require_own_state(self) -> None:
        """Refuse a class whose objects share state.

        Raises:
            TargetError: after calls on other objects, a call on a new object has another outcome, permanently.
        """
        unknown = self.unsteady | self.untried
        steady = [item for item in self.first.items() if not item[1].waits and item[0].name not in unknown]
        for number, write in enumerate(self._writes[:_MOST_WRITES]):
            if number and self._allowance.is_spent:
                break
            self._outcome((write,))
            for call, outcome in steady:
                later = self._outcome(self._with_needed(call))
                if later == outcome or later.waits:  # a wait for something real proves no shared state
                    continue
                raise TargetError(
                    f"objects of the class share state, so results cannot be compared: {call} returns {outcome} on a "
                    f"new object, but {later} on a new object after calls of other objects; write a "
                    "kcache.testing.Machine whose subject() resets the shared state"
                )

    def _differs(self, calls: Calls, times: int = 2) -> bool:
        """Whether the outcome of calls varies between new objects, in ``times`` trials."""
        outcome = self._outcome(calls)
        return not outcome.waits and any(self._outcome(calls) != outcome for _ in range(times - 1))

    def _with_needed(self, call: MethodCall) -> Calls:
        """Return a call after the calls whose results it takes, and after the start of the block that it ends."""
        needed = [name for name in (*call.results, *_begun(call)) if name in self._firsts]
        before = [one for name in needed for one in self._with_needed(self._firsts[name])]
        return (*before, call)


class _Completing:
    """Trials of calls after the calls on whose results they are made."""

    def __init__(self, tries: CountingTries) -> None:
        self._tries = tries

    def __call__(self, calls: Calls) -> Outcome:
        return self._tries(with_receivers(calls))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tries, name)

    def result(self, calls: Calls) -> object:
        return self._tries.result(with_receivers(calls))

    def object_and_result(self, calls: Calls) -> tuple[object, object]:
        return self._tries.object_and_result(with_receivers(calls))

    @property
    def real_waits(self) -> int:
        return self._tries.real_waits


def _kind_in(result: object) -> type:
    """Return the class of the first object in a result that is no container, or that of the result."""
    inner = (type(each) for each in objects_in(result))
    return next((kind for kind in inner if not issubclass(kind, (list, dict, set))), type(result))


def _also_after(call: MethodCall, earlier: Iterable[Calls]) -> Iterator[Calls]:
    """Yield sequences of calls; for a call on a result, also with the call that returned it before them."""
    for calls in earlier:
        yield calls
        if call.of is not None:
            yield (call.of, *calls)


def _is_same(one: Outcome, other: Outcome) -> bool:
    return one == other and not one.waits


def _begun(call: MethodCall) -> tuple[str, ...]:
    return (f"{call.block}.enter",) if call.form is Form.EXIT else ()


def changing(templates: Iterable[OperationTemplate], tries: Sparing) -> set[str]:
    """Return the names of the calls that change what another call returns, although they only read by their names."""
    calls = [call for call in (next(template.smallest(0)) for template in templates) if not call.needs]
    reads = [call for call in calls if call.form is Form.CALL and not call.is_write]
    first = {other: tries((other,)) for other in calls if reads}
    steady = [other for other, outcome in first.items() if not outcome.waits and tries((other,)) == outcome]
    return {call.name for call in reads if any(tries((call, other)) != first[other] for other in steady)}
