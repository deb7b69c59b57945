"""The vocabulary of a class: the calls that its objects accept, determined by trials.

Annotations and names decide the values to try first. The criterion is whether a call returns: if a method raises for
all values, other values are chosen among plain values, callables, and results of other calls.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from kcache_model.errors import TargetError
from kcache_model.object_types.callbacks import Behaviour, Callback
from kcache_model.object_types.method_call import Form, MethodCall, ResultOf
from kcache_model.object_types.vocabulary import OperationTemplate
from kcache_model.object_types.whole_blocks import with_receivers
from kcache_model.outcomes import Outcome

from .argument_values import FEW, Values, first_values, other_values, plain_values, usual_values
from .optional_parameters import ABSENT, MOST_OPTIONAL, values_of_optional
from .pairs import belong_together
from .public_calls import PublicCall

_MOST_TRIES: Final = 60
"""Trials of one method with different values. Each trial costs a new object and the calls before it."""
_MOST_VALUES: Final = 8
"""Combinations of values for one call that are tried after each call before it."""
_MOST_BEFORE: Final = 6
"""Calls of other methods that are tried before a call, one at a time."""
_MOST_PAIRS: Final = 60
"""Pairs of other calls that are tried before a call that returns after nothing else."""
_MOST_PARAMETERS_OF_C: Final = 2
"""Arguments that are tried for a method that does not reveal its parameters."""
_PLAIN: Final = (bool, int, float, str, bytes, type(None), tuple, list, dict, set, frozenset)


class Tries(Protocol):
    """An object that makes calls one after another on a new object."""

    def __call__(self, calls: tuple[MethodCall, ...], /) -> Outcome:
        """Return the outcome of the last call."""
        ...

    def result(self, calls: tuple[MethodCall, ...], /) -> object:
        """Return the result of the last call as an object; ``None`` if it did not return."""
        ...


@dataclass
class ClassVocabulary:
    """The calls of a class.

    Attributes:
        templates: the calls, each after the calls whose results it takes.
        left_out: the calls that are impossible, each with the reason: ``name (reason)``.
    """

    templates: list[OperationTemplate] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def vocabulary_of(calls: Sequence[PublicCall], tries: Tries | None = None) -> ClassVocabulary:
    """Build the vocabulary of a class.

    Args:
        calls: the candidates.
        tries: makes calls; without it, the values for annotations and names are used without a trial.
    """
    choice = _Choice(calls, tries)
    vocabulary = ClassVocabulary()
    # Calls without parameters come first, and calls on results after those that return these.
    for call in sorted(calls, key=lambda call: (call.of is not None, call.parameters != ())):
        choice.first(call)
    if tries is not None:
        choice.with_results()
        choice.others()
        choice.optional()
    for call in _producers_first(calls, choice.arguments):
        if call.name in choice.reasons:
            vocabulary.left_out.append(choice.reasons[call.name])
        else:
            vocabulary.templates.append(choice.template(call))
    return vocabulary


class _Choice:
    """The choice of values for the parameters of each call.

    Attributes:
        arguments: name of a call -> the values of each of its arguments.
        reasons: name of a call whose values cannot be created -> why, as ``name(parameter: reason)``.
        passed: name of a call -> optional parameter -> the values that are sometimes passed for it.
    """

    def __init__(self, calls: Sequence[PublicCall], tries: Tries | None) -> None:
        self.arguments: dict[str, list[Values]] = {}
        self.reasons: dict[str, str] = {}
        self.passed: dict[str, dict[str, Values]] = {}
        self._calls = calls
        self._tries = tries
        self._is_async = any(call.is_async for call in calls)
        self._returns: set[str] = set()
        self._methods = [
            call.name
            for call in calls
            if call.form is Form.CALL and _needs_nothing(call) and not (call.is_async or call.name.startswith("__"))
        ]
        self._produced: list[tuple[str, object]] | None = None

    def first(self, call: PublicCall) -> None:
        """Use the values for annotations and names."""
        values: list[Values] = []
        for parameter in call.parameters or ():
            try:
                values.append(first_values(parameter, self._callable_back(call), is_async=self._is_async))
            except TargetError as error:
                self.reasons[call.name] = f"{call.name}({parameter.name}: {error})"
                values.append(usual_values(parameter))
        self._settle(call, values)
        if call.parameters and _needs_nothing(call) and call.name not in self._returns:
            self._settle(call, [])  # for a wrapper that passes on its arguments
        if call.name in self._returns:
            self.reasons.pop(call.name, None)

    def with_results(self) -> None:
        """Offer results of other calls to calls whose names belong together, or if the results are not plain data."""
        takes = {call.name for call in self._calls if call.parameters}
        for producer, returned in self._producers():
            for call in self._calls:
                if call.name == producer or not call.parameters or call.form not in (Form.CALL, Form.ITERATE):
                    continue
                is_pair = belong_together(producer, call.name)
                is_plain = issubclass(type(returned), _PLAIN)
                # `get(key)` and `put(key, value)` of a table are no pair like those of a pool: the key is a value, too.
                is_looked_up = is_plain and producer in takes and call.name in self._returns
                if is_pair or not is_plain:
                    is_only = (is_pair and not is_looked_up) or call.name not in self._returns
                    self._offer(call, ResultOf(producer), returned, is_only=is_only)

    def others(self) -> None:
        """Choose other values for calls that raised with all values so far, or have none.

        If that helped, it is repeated: a method that removes something may return after a method that adds something.
        """
        for _ in range(2):
            known = len(self._returns)
            self._produced = None
            for call in self._calls:
                if call.name not in self._returns and call.form is not Form.EXIT:
                    self._try_others(call)
            if len(self._returns) == known:
                break

    def optional(self) -> None:
        """Choose values for optional parameters, such that the call still returns."""
        for call in self._calls:
            if call.name not in self._returns or not call.optional:
                continue
            smallest = self._smallest(call.name)
            needed = tuple(self._smallest(name) for name in smallest.needs)
            earlier = [(*needed, *calls) for calls in ((), *self._before(call))]
            calls = next((calls for calls in earlier if not self._is_wrong(self._outcome((*calls, smallest)))), None)
            if calls is None:
                continue
            passed = self.passed[call.name] = {}
            for parameter in call.optional:
                values = [
                    value
                    for value in values_of_optional(parameter, self._callable_back(call))
                    if not self._is_wrong(self._outcome((*calls, _with(smallest, {parameter.name: value}))))
                ]
                if values and len(passed) < MOST_OPTIONAL:
                    passed[parameter.name] = values

    def template(self, call: PublicCall) -> OperationTemplate:
        """Build the template of a call that has values."""
        values = self.arguments[call.name]
        passed = self.passed.get(call.name, {})

        def make(_number: int, *chosen: Any) -> MethodCall:
            optional = zip(passed, chosen[len(values) :], strict=True)
            named = {name: value for name, value in optional if value is not ABSENT}
            return _with(self._call(call, chosen[: len(values)]), named)

        absent = [ABSENT] * len(passed)
        first = [next(iter(own)) for own in values]
        alone = ((*first, *absent[:at], own[0], *absent[at + 1 :]) for at, own in enumerate(passed.values()))
        return OperationTemplate(
            call.name,
            make,
            (*values, *([ABSENT] * 2 * len(own) + [*own] for own in passed.values())),
            call.weight,
            small=(*map(_small, values), *([one] for one in absent)),
            small_too=tuple(alone),
            ends=call.form is Form.EXIT,
            is_inherited=call.is_inherited,
        )

    def _settle(self, call: PublicCall, values: list[Values]) -> None:
        """Use some values, without the callbacks that make the call wait forever."""
        if self._tries is not None:
            values = [self._returning(call, values, at) for at in range(len(values))]
            if self._returns_once(call, values):
                self._returns.add(call.name)
        self.arguments[call.name] = values

    def _returning(self, call: PublicCall, values: list[Values], at: int) -> Values:
        """Return the values of one argument, without the callbacks for which the call never returns.

        Holding a lock while a callback runs is not a fault: most such classes forbid callbacks to call them.
        """
        own = values[at]
        others = [next(iter(one)) for one in values]
        returning = []
        for value in own:
            if isinstance(value, Callback) and value.behaviour is Behaviour.CALLS_BACK:
                method_call = self._call(call, [*others[:at], value, *others[at + 1 :]])
                if any(self._outcome((*before, method_call)).waits for before in ((), *self._before(call))):
                    continue
            returning.append(value)
        return tuple(returning)

    def _try_others(self, call: PublicCall) -> None:
        known = list(call.parameters or ())
        candidates = [self._candidates(call, parameter) for parameter in known]
        if call.parameters is None:
            unknown = [self._candidates(call, None)] * _MOST_PARAMETERS_OF_C
            choices = [unknown[:count] for count in range(_MOST_PARAMETERS_OF_C + 1)]
        else:
            choices = [candidates]
        for choice in choices:
            for numbers in itertools.islice(_first_ones_first([len(own) for own in choice]), _MOST_TRIES):
                values = [own[number] for own, number in zip(choice, numbers, strict=True)]
                if self._takes(call, values):
                    self.reasons.pop(call.name, None)
                    self._returns.add(call.name)
                    self.arguments[call.name] = values
                    return

    def _candidates(self, call: PublicCall, parameter: inspect.Parameter | None) -> list[Values]:
        at = list(call.parameters or ()).index(parameter) if parameter is not None else -1
        own = self.arguments.get(call.name)
        first = [own[at]] if own and at >= 0 else []  # empty for a wrapper that got no arguments
        producers = [(name, value) for name, value in self._producers() if name != call.name]
        results = [(ResultOf(name),) for name, value in producers if not issubclass(type(value), _PLAIN)]
        plain = [(ResultOf(name),) for name, value in producers if issubclass(type(value), _PLAIN)]
        if parameter is None:  # a method in C; most take anything, and plain values are easier to read
            first = plain_values()
        others = other_values(parameter, self._callable_back(call), is_async=self._is_async)
        return [*first, *results, *others, *plain]

    def _offer(self, call: PublicCall, result: ResultOf, returned: object, *, is_only: bool) -> None:
        """Let a call take the result of another call, at the first position for which it returns."""
        parameters = list(call.parameters or ())
        own = self.arguments.get(call.name) or [(1,)] * len(parameters)
        producer = self._smallest(result.name)
        for at, parameter in enumerate(parameters):
            annotation = parameter.annotation
            if not _is_instance(returned, annotation):
                continue
            tried = [*(next(iter(one)) for one in own[:at]), result, *(next(iter(one)) for one in own[at + 1 :])]
            outcome = self._outcome((producer, self._call(call, tried)))
            if outcome.error is None and not outcome.waits:
                values = (result,) if is_only else (*own[at], result)
                self.arguments[call.name] = [*own[:at], values, *own[at + 1 :]]
                self.reasons.pop(call.name, None)
                self._returns.add(call.name)
                return

    def _takes(self, call: PublicCall, values: list[Values]) -> bool:
        """Whether a call with the first of these values returns on a new object, or after calls of other methods."""
        method_call = self._call(call, [next(iter(own)) for own in values])
        before = [(self._smallest(name),) for name in method_call.needs]
        after = [(*(one for calls in before for one in calls), *calls) for calls in ((), *self._before(call))]
        if not values:
            return self._returns_once(call, values)
        return any(not self._is_wrong(self._outcome((*calls, method_call))) for calls in after)

    def _returns_once(self, call: PublicCall, values: list[Values]) -> bool:
        """Whether a call with some of these values returns on a new object, or after one or two other calls."""
        calls = self._before(call, len(self._calls))
        method_calls = list(itertools.islice(self._method_calls(call, values), _MOST_VALUES))
        pairs = itertools.islice(((*one, *other) for one, other in itertools.permutations(calls, 2)), _MOST_PAIRS)
        after = itertools.chain(
            itertools.product(((), *calls[:_MOST_BEFORE]), method_calls),
            itertools.product((*calls, *pairs), method_calls[:1]),
        )
        return any(not self._is_wrong(self._outcome((*before, one))) for before, one in after)

    def _is_wrong(self, outcome: Outcome) -> bool:
        return outcome.waits or outcome.error is not None

    def _before(self, call: PublicCall, most: int = _MOST_BEFORE) -> list[tuple[MethodCall, ...]]:
        """Return calls of other methods that return and may come before; calls that add something come first."""
        names = [one.name for one in self._calls if one.is_write and one.name in self._returns]
        others = [self._smallest(name) for name in names if name != call.name]
        others = sorted((one for one in others if one.form is not Form.EXIT), key=lambda one: not one.puts_in)
        before = [(*map(self._smallest, one.needs), one) for one in others if call.name not in one.needs][:most]
        # Another call may have to come after the one on whose result this is made: `answer()` after `ask()`.
        return before if call.of is None else [each for one in before for each in (one, (call.of, *one))]

    def _producers(self) -> Iterator[tuple[str, object]]:
        """Yield the calls that return a usable result on a new object, with the result."""
        assert self._tries is not None
        if self._produced is None:
            produced = []
            for call in self._calls:
                if call.name in self._returns and call.form in (Form.CALL, Form.READ) and call.is_write:
                    smallest = self._smallest(call.name)
                    value = self._tries.result((smallest,)) if not smallest.needs else None
                    if value is not None and type(value) is not bool:
                        produced.append((call.name, value))
            self._produced = produced
        yield from self._produced

    def _callable_back(self, call: PublicCall) -> list[str]:
        """Return methods without parameters for callbacks to call; methods whose names suggest reads come first."""
        others = [name for name in self._methods if name != call.name]
        return sorted(others, key=lambda name: not name.startswith(("count", "size", "len", "get", "is_", "value")))

    def _method_calls(self, call: PublicCall, values: list[Values]) -> Iterator[MethodCall]:
        for chosen in itertools.product(*map(dict.fromkeys, values)):
            yield self._call(call, list(chosen))

    def _smallest(self, name: str) -> MethodCall:
        call = next(one for one in self._calls if one.name == name)
        return self._call(call, [next(iter(own)) for own in self.arguments[name]])

    def _call(self, call: PublicCall, values: Sequence[Any]) -> MethodCall:
        is_known = call.after in self.arguments and call.after not in self.reasons
        after = self._smallest(call.after) if is_known else None
        keywords = _keywords(call)
        return MethodCall(call.name, tuple(values), call.is_write, call.form, keywords, call.is_async, call.of, after)

    def _outcome(self, calls: tuple[MethodCall, ...]) -> Outcome:
        assert self._tries is not None
        return self._tries(with_receivers(calls))


def _with(call: MethodCall, named: Mapping[str, Any]) -> MethodCall:
    """Return a call that passes further parameters by name."""
    return replace(call, arguments=(*call.arguments, *named.values()), keywords=(*call.keywords, *named))


def _first_ones_first(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield a number below each size, lowest sums first. All combinations would be too many to sort."""
    for total in range(sum(sizes) - len(sizes) + 1):
        yield from _adding_up(sizes, total)


def _adding_up(sizes: Sequence[int], total: int) -> Iterator[tuple[int, ...]]:
    if not sizes:
        yield from [()] if total == 0 else []
        return
    highest = sum(sizes[1:]) - len(sizes) + 1
    for number in range(max(0, total - highest), min(sizes[0] - 1, total) + 1):
        for others in _adding_up(sizes[1:], total - number):
            yield (number, *others)


def _needs_nothing(call: PublicCall) -> bool:
    """Whether the call may be made without arguments; ``*names`` may be empty."""
    parameters = call.parameters
    return parameters is not None and all(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters)


def _keywords(call: PublicCall) -> tuple[str, ...]:
    return tuple(one.name for one in call.parameters or () if one.kind is inspect.Parameter.KEYWORD_ONLY)


def _small(values: Values) -> Values:
    """Return the values for small-scope verification: two values, and results of other calls."""
    distinct = list(dict.fromkeys(values))
    return [*distinct[:FEW], *(value for value in distinct[FEW:] if isinstance(value, ResultOf))]


def _is_instance(value: object, annotation: Any) -> bool:
    """Whether the type of a value matches an annotation that is a class; no method of the value runs."""
    if annotation is inspect.Parameter.empty or not isinstance(annotation, type):
        return True
    try:
        return issubclass(type(value), annotation)
    except TypeError:
        return True


def _producers_first(calls: Sequence[PublicCall], arguments: Mapping[str, list[Values]]) -> list[PublicCall]:
    """Return the calls in their order, but each after the calls whose results it takes."""
    needs = {
        name: {value.name for own in values for value in own if isinstance(value, ResultOf)}
        for name, values in arguments.items()
    }
    remaining, in_order = list(calls), list[PublicCall]()
    while remaining:
        named = {call.name for call in remaining}
        ready = [call for call in remaining if not (needs.get(call.name, set()) & named - {call.name})] or remaining[:1]
        in_order.append(ready[0])
        remaining.remove(ready[0])
    return in_order
