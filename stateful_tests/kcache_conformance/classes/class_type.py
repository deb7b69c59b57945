"""Target types of classes: ``class=TARGET`` and ``class=TARGET==MODEL``, made of the class when they are asked for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from kcache_model.errors import TargetError
from kcache_model.object_types.object_type import MakeDriver
from kcache_model.object_types.plain import Applies, PlainDriver, object_type, plain_codec, plain_value
from kcache_model.object_types.replayed import Calls, ReplaySpecification
from kcache_model.object_types.vocabulary import Vocabulary
from kcache_model.outcomes import Outcome, error_text
from kcache_model.target_name import Applied
from kcache_stress.loading import load_object

from ..objects.as_target_type import target_type
from ..objects.specifications import specification_named
from ..target_type import TargetType
from . import BETWEEN, PREFIX
from .call_replay import Replay
from .signatures import vocabulary_of

_MOST_BEFORE: Final = 4
"""Calls after which one that waits is tried: where virtual threads cannot tell, each costs that patience."""
_MOST_VALUES: Final = 8
"""Calls of a method with different values."""
_MOST_PAIRS: Final = 100
_OWN_PHASES: Final = ("explorer", "stress")
"""In one thread a class always does what it does itself."""


@dataclass(frozen=True)
class _Calls:
    """What can be called of objects of a class, and how.

    Attributes:
        vocabulary: the calls.
        left_out: what cannot be called, for want of values.
        driver: makes objects of the class, and calls.
        specification: what the results are compared with.
        has_checks: whether there is more to be seen in one thread than what the class does itself.
    """

    vocabulary: Vocabulary
    left_out: tuple[str, ...]
    driver: MakeDriver
    specification: Applies | ReplaySpecification
    has_checks: bool


def class_type(name: str) -> TargetType:
    """The type of a class, by its name.

    Raises:
        TargetError: there is no such class or model, its objects cannot be made, or none of its methods can be called.
    """
    target, _, model = name.removeprefix(PREFIX).partition(BETWEEN)
    kind, makes = _loaded(target)
    calls = _of_machine(kind, target, model) if _is_machine(kind) else _of_class(kind, makes, target, model)
    found = target_type(
        replace(
            object_type(
                name,
                reference=target,
                specification=calls.specification,
                vocabulary=calls.vocabulary,
                summary="a class whose results are those of calls in one thread",
                called=kind.__name__.lower(),
            ),
            driver=calls.driver,
            codec=plain_codec(calls.vocabulary, _argument),
        )
    )
    return replace(
        found,
        phases={phase: run for phase, run in found.phases.items() if calls.has_checks or phase in _OWN_PHASES},
        not_tested=lambda loaded: tuple(sorted({*loaded.unsupported, *calls.left_out})),
    )


def _argument(data: Any) -> Any:
    if not isinstance(data, dict):
        return plain_value(data)
    from .made_arguments import argument_of  # of the fuzzer, which few classes need

    return argument_of(data)


def _is_machine(kind: type) -> bool:
    """Whether it is a machine; asked without Hypothesis, which is most of the time that imports take."""
    return any(base.__qualname__ == "Machine" and base.__module__ == f"{__package__}.machine" for base in kind.__mro__)


def _of_machine(kind: Any, target: str, model: str) -> _Calls:
    from .machine import rules_of
    from .machine_type import MachineDriver, machine_vocabulary

    if model:
        raise TargetError(f"{kind.__name__} is a Machine: give it a model = ..., in place of --spec")
    makes = kind.model
    invariants = frozenset(name for name, rule in rules_of(kind).items() if rule.is_invariant)
    replay = Replay(target, kind, partial(MachineDriver, makes=_compared_subject), invariants)
    subject = Replay(target, kind, MachineDriver, invariants)
    replayed = ReplaySpecification(replay, is_of_target=makes is None, timing=subject)
    has_checks = makes is not None or bool(invariants)
    return _Calls(machine_vocabulary(kind), getattr(kind, "left_out", ()), MachineDriver, replayed, has_checks)


def _of_class(kind: type, makes: Callable[[], Any], target: str, model: str) -> _Calls:
    made = _made(makes, target)
    _made(makes, target, "a second object")
    words = vocabulary_of(kind, made)
    if all(next(template.smallest(0)).is_attribute for template in words.templates):
        what = f"; no values are known for {', '.join(words.left_out)}" if words.left_out else ""
        raise TargetError(f"{target} has no public methods that can be called{what}; write a kcache.testing.Machine")
    if model and (":" not in model or hasattr(load_object(model), "apply")):
        return _specified(made, target, model)
    replay = Replay(model or target, _loaded(model)[1] if model else makes, PlainDriver)
    first = {call: replay((call,)) for call in (next(template.smallest(0)) for template in words.templates)}
    unsteady = _unsteady(target, first, replay)
    useless = {call.name for call in unsteady if not call.is_write}
    untold = frozenset(call.name for call in unsteady) - useless
    called = tuple(template for template in words.templates if template.name not in useless)
    replay.driver = partial(PlainDriver, untold=untold)
    left_out = (
        *words.left_out,
        *(f"{call.name} (its results differ from run to run)" for call in unsteady if call.name in useless),
        *(f"what {call.name} returns (it differs from run to run)" for call in unsteady if call.name in untold),
        *(f"{call.name} (it never returned in one thread)" for call in _endless(first, replay)),
        *(f"{name} (it raised {error} with all values that were tried)" for name, error in _refused(called, replay)),
    )
    timing = Replay(target, makes, PlainDriver)
    replayed = ReplaySpecification(replay, is_of_target=not model, timing=timing if model else None)
    return _Calls(called, left_out, replay.driver, replayed, bool(model))


def _specified(made: object, target: str, name: str) -> _Calls:
    """The calls of a class that a specification knows, by the names that they have there."""
    specification = specification_named(name)
    known: Vocabulary = getattr(specification, "vocabulary", ())
    offered = tuple(template for template in known if callable(getattr(made, template.name, None)))
    if not offered:
        calls = ", ".join(template.name for template in known) or "none: give it a vocabulary"
        raise TargetError(f"{target} has none of the calls that {name} knows; these are: {calls}")
    return _Calls(offered, (), PlainDriver, specification, has_checks=True)


def _unsteady(target: str, first: Mapping[Any, Outcome], replay: Callable[[Calls], Outcome]) -> list[Any]:
    """The calls that do not give the same each time after the same others: they tell times, or identities.

    Args:
        target: of which they are.
        first: one call of each method -> what it gives on a new object.
        replay: see :class:`~.call_replay.Replay`.

    Raises:
        TargetError: a call gives something else on a new object once other objects have been called.
    """
    writes = _writes_that_return(first)
    before: Calls = ()
    for call in first:
        if call.is_write and not replay((*before, call)).waits:  # nothing would be called after it, and each wait costs
            before = (*before, call)
    ways = {call: [(*before, call), *((write, call) for write in writes if not call.is_write)] for call in first}

    def differs(calls: Calls) -> bool:
        outcome = replay(calls)
        return not outcome.waits and replay(calls) != outcome

    unsteady = [call for call in first if any(map(differs, ways[call]))]
    for call, outcome in first.items():
        later = outcome if outcome.waits or call in unsteady else replay((call,))
        if later != outcome:
            raise TargetError(
                f"objects of {target} share state, so their results cannot be compared: {call} gives {outcome} on a "
                f"new one, and {later} on another after calls of others; write a kcache.testing.Machine whose "
                "subject() forgets what they share"
            )
    return unsteady


def _endless(first: Mapping[Any, Outcome], replay: Replay) -> Iterator[Any]:
    """The calls that return neither on a new object nor after or beside calls of others: programs do without them."""
    before = _writes_that_return(first)
    earlier = (before, *((one,) for one in before[:_MOST_BEFORE]))
    for call, outcome in first.items():
        if not outcome.waits or replay.succeeds_beside(call, first):
            continue
        if all(replay((*calls, call)).waits for calls in earlier):
            yield call


def _refused(templates: Vocabulary, replay: Replay) -> Iterator[tuple[str, str]]:
    """The methods that take no value that is tried, whatever two others have done before, with what they raise."""
    calls = [tuple(itertools.islice(template.smallest(0), _MOST_VALUES)) for template in templates]
    writes = [call for each in calls for call in each if call.is_write and not replay((call,)).waits]
    pairs = itertools.islice(itertools.permutations(writes, 2), _MOST_PAIRS)
    before: list[Calls] = [(), *((write,) for write in writes), *pairs]
    for own in calls:
        if not own[0].arguments:
            continue
        outcomes = (replay((*earlier, call)) for earlier in before for call in own)
        if all(outcome.error is not None for outcome in outcomes) and not replay.succeeds_beside(own[0], own):
            yield own[0].name, str(replay(own[:1]).error)


def _writes_that_return(first: Mapping[Any, Outcome]) -> Calls:
    return tuple(call for call, outcome in first.items() if call.is_write and not outcome.waits)


def _loaded(name: str) -> tuple[type, Callable[[], Any]]:
    """The class of a name, or of what it gives, and what makes its objects."""
    makes: Any = load_object(name, wanted="Class")
    kind = makes.func if isinstance(makes, Applied) else makes
    if isinstance(kind, type):
        return kind, makes
    if not callable(kind):
        raise TargetError(f"{name} is a {type(kind).__name__}, not a class")
    kind = type(_made(makes, name))
    if kind.__module__ == "builtins":
        raise TargetError(
            f"{name} gives a {kind.__name__}, no object of a class that could be checked; a test is checked by "
            "--type test"
        )
    return kind, makes


def _made(makes: Callable[[], Any], name: str, what: str = "an object") -> object:
    try:
        return makes()
    except (Exception, SystemExit) as error:
        more = "" if name.endswith(")") else f"; if it needs arguments, name them: '{name}(2)'"
        raise TargetError(f"making {what} of {name} raised {error_text(error)}{more}") from error


def _compared_subject(machine: Any) -> object:
    """What the rules of a machine are called on, one after another: its model, if it has one."""
    makes = type(machine).model
    return machine.subject() if makes is None else makes()
