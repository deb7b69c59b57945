"""Target types of classes: ``class=TARGET`` and ``class=TARGET==MODEL``, created from the class on demand."""

from __future__ import annotations

import contextlib
import difflib
import functools
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from kcache_model.errors import TargetError
from kcache_model.object_types.awaiting_driver import AwaitingDriver
from kcache_model.object_types.callbacks import decode_callback
from kcache_model.object_types.loop_thread import created_in_loop
from kcache_model.object_types.method_call import Form, result_name
from kcache_model.object_types.object_type import MakeDriver
from kcache_model.object_types.plain import (
    Applies,
    PlainTarget,
    object_type,
    plain_argument,
    plain_codec,
)
from kcache_model.object_types.plain_driver import UNREAD, VARIES, PlainDriver
from kcache_model.object_types.replayed import ReplaySpecification
from kcache_model.object_types.vocabulary import Vocabulary
from kcache_model.outcomes import Outcome, error_text
from kcache_model.shared_state import shared_states
from kcache_model.target_name import Applied
from kcache_stress.loading import load_object

from ..objects.as_target_type import late_exploring, late_recordings, target_type
from ..objects.specifications import specification_named
from ..phases.phase import PhaseContext, PhaseOutcome
from ..targets.class_names import parse_class_type_name
from ..targets.target_type import TargetType
from .call_replay import Replay
from .called_under_lock import advice_of_left_out, methods_called_under_lock
from .probing import Probed, changing
from .public_calls import (
    PublicCall,
    async_methods,
    class_calls,
    defining_class,
    method_name,
    public_calls,
    unread_attributes,
)
from .returned_objects import (
    calls_on_results,
    results_of,
    returned_by_children,
    with_blocks,
    with_called_attributes,
)
from .sparing import Allowance, Sparing
from .vocabulary_choice import ClassVocabulary, vocabulary_of

_CONSTANT: Final = ("tuple", "frozenset")
"""Types of public attributes that are not named: most of them are settings, which no call changes."""


class _Discarded(io.TextIOBase):
    """A text stream without content: a class that prints would print thousands of times during the trials."""

    def write(self, text: str, /) -> int:
        """Discard the text."""
        return len(text)


_SUMMARY: Final = "a class, compared with its results in one thread"
_OWN_PHASES: Final = ("explorer", "stress")
"""Phases for a class without a model: in one thread, a class always agrees with itself."""


@dataclass(frozen=True)
class _Calls:
    """The calls of a class's objects.

    Attributes:
        vocabulary: the calls.
        left_out: calls that are impossible because their values are unknown.
        driver: creates objects of the class and makes the calls.
        specification: the specification that judges the results.
        has_checks: whether runs in one thread are compared with something else than the class itself.
        compares_results: whether some call returns an object, so that returning the same object counts as a result.
        reads: the names of calls that read the object back at the end, in addition to those that change nothing.
    """

    vocabulary: Vocabulary
    left_out: tuple[str, ...]
    driver: MakeDriver
    specification: Applies | ReplaySpecification
    has_checks: bool
    compares_results: bool = False
    reads: frozenset[str] = frozenset()


def class_type(name: str) -> TargetType:
    """Return the type of a class, by its name.

    The methods of a class are tried when a target is loaded, in a child process, because they may do anything to the
    process that calls them. Before that, only the import of its module runs.

    Raises:
        TargetError: there is no such class or model.
    """
    target, model, leave_out = parse_class_type_name(name)
    instance = load_object(target, wanted="Class")
    kind = instance.func if isinstance(instance, Applied) else instance
    if not callable(kind):
        raise TargetError(f"{target} is a {type(kind).__name__}, not a class")
    if isinstance(kind, type) and _is_machine(kind):
        return _whole_type(name)
    whole = functools.cache(partial(_whole_type, name))
    called = getattr(kind, "__name__", "object").lower()
    light = target_type(
        replace(
            object_type(
                name,
                reference=target,
                specification=ReplaySpecification(_not_replayed),
                vocabulary=(),
                summary=_SUMMARY,
                called=called,
            ),
            codec=plain_codec((), _argument),
        )
    )
    return replace(
        light,
        phases={phase: partial(_run_phase, whole, phase) for phase in (light.phases if model else _OWN_PHASES)},
        load=lambda spec: whole().load(spec),
        not_tested=lambda loaded: whole().not_tested(loaded),
        calls=lambda loaded: whole().calls(loaded),
        replay=lambda *arguments: whole().replay(*arguments),
        recordings=late_recordings(lambda: whole().recordings),
        exploring=late_exploring(lambda: whole().exploring),
        advised_against=_under_lock(kind) if isinstance(kind, type) else {},
        advised=lambda loaded: whole().advised(loaded),
        knows=_known_options(kind, leave_out),
    )


def _whole_type(name: str) -> TargetType:
    """Return the type of a class, including the results of trying its methods.

    Raises:
        TargetError: its objects cannot be created, or none of its methods can be called.
    """
    target, model, leave_out = parse_class_type_name(name)
    kind, makes = _loaded(target)
    with contextlib.redirect_stdout(_Discarded()), contextlib.redirect_stderr(_Discarded()):
        if _is_machine(kind):
            calls = _of_machine(kind, target, model)
        else:
            calls = _of_class(kind, makes, target, model, leave_out)
    whole_type = target_type(
        replace(
            object_type(
                name,
                reference=target,
                specification=calls.specification,
                vocabulary=calls.vocabulary,
                summary=_SUMMARY,
                called=kind.__name__.lower(),
                compares_results=calls.compares_results,
                reads=calls.reads,
            ),
            driver=calls.driver,
            codec=plain_codec(calls.vocabulary, _argument),
        )
    )
    return replace(
        whole_type,
        phases={phase: run for phase, run in whole_type.phases.items() if calls.has_checks or phase in _OWN_PHASES},
        not_tested=lambda loaded: _left_out(loaded, calls.left_out),
        calls=lambda loaded: tuple(
            one.name for one in calls.vocabulary if one.name not in loaded.unsupported and not one.is_inherited
        ),
        advised_against=_under_lock(kind),
        advised=lambda _: advice_of_left_out(calls.left_out),
        knows=_known_options(kind, leave_out),
    )


def _known_options(kind: Any, leave_out: Sequence[str]) -> frozenset[str]:
    is_async = isinstance(kind, type) and not {*async_methods(kind)}.issubset(leave_out)
    return frozenset({"cancel", "cancel-strict"} if is_async else ())


def _not_replayed(_: object) -> Outcome:
    raise AssertionError("the light type of a class makes no calls")


def _run_phase(whole: Callable[[], TargetType], phase: str, context: PhaseContext) -> PhaseOutcome:
    return whole().phases[phase](context)


def _left_out(target: PlainTarget, reasons: Sequence[str]) -> tuple[str, ...]:
    """Return the omitted parts of a target: names from the user or the target, and others with the reason."""
    chosen = target.unsupported
    return tuple(sorted({*chosen, *(text for text in reasons if method_name(text) not in chosen)}))


def _under_lock(kind: type) -> dict[str, str]:
    """Return the methods that the class itself calls with its lock held -> why threads should not call them."""
    if _is_machine(kind):
        return {}
    return dict.fromkeys(
        methods_called_under_lock(kind),
        "needs a lock: the class calls it only while it holds that lock, or the documentation says so",
    )


def _argument(data: Any) -> Any:
    if not isinstance(data, dict) or "result_of" in data:
        return plain_argument(data)
    if "callback" in data:
        return decode_callback(data)
    from .argument_instances import argument_of  # part of the fuzzer, which few classes need

    return argument_of(data)


def _is_machine(kind: type) -> bool:
    """Whether a class is a machine; determined without Hypothesis, which takes most of the import time."""
    return any(base.__qualname__ == "Machine" and base.__module__ == f"{__package__}.machine" for base in kind.__mro__)


def _of_machine(kind: Any, target: str, model: str) -> _Calls:
    from .machine import rules_of
    from .machine_type import driver_of, machine_vocabulary

    if model:
        raise TargetError(f"{kind.__name__} is a Machine: leave out --spec, and write model = ... in the class")
    makes = kind.model
    invariants = frozenset(name for name, rule in rules_of(kind).items() if rule.is_invariant)
    driver = driver_of(kind)
    replay = Replay(target, kind, partial(driver, makes=_compared_subject), invariants)
    subject = Replay(target, kind, driver, invariants)
    replayed = ReplaySpecification(replay, is_of_target=makes is None, timing=subject)
    has_checks = makes is not None or bool(invariants)
    return _Calls(machine_vocabulary(kind), getattr(kind, "left_out", ()), driver, replayed, has_checks)


def _of_class(
    kind: type,
    makes: Callable[[], Any],
    target: str,
    model: str,
    leave_out: Sequence[str] = (),
    awaited: Sequence[str] = (),
) -> _Calls:
    """Return the calls of a class; ``awaited`` are the names of calls whose results have async methods."""
    shared_states(makes)  # recorded before the first object is created
    awaited = awaited or [name for name in async_methods(kind) if name not in leave_out]
    driver = AwaitingDriver if awaited else PlainDriver
    instance = _create(partial(_created, driver, makes), target)
    _create(partial(_created, driver, makes), target, "a second object")
    everything = public_calls(kind, instance)
    everything += _calls_of_shared_state(kind, makes, target)
    _require_methods(target, leave_out, [call.name for call in everything])
    offered = [call for call in everything if method_name(call.name) not in leave_out]
    left_out = list(leave_out)
    if model and (":" not in model or hasattr(load_object(model), "apply")):
        return _specified(instance, target, model)
    replay = Replay(model or target, _loaded(model)[1] if model else makes, driver)
    allowance = Allowance()
    tries = Sparing(replay, allowance)
    words = vocabulary_of(offered, tries)
    if changed := changing(words.templates, tries):
        offered = [replace(call, is_write=call.is_write or call.name in changed) for call in offered]
        words = vocabulary_of(offered, Sparing(replay, allowance))
    results = results_of(words.templates, tries)
    blocks = with_blocks(
        with_called_attributes(kind, offered, results), results, tries, is_async=driver is AwaitingDriver
    )
    if blocks != offered:
        offered, words = blocks, vocabulary_of(blocks, Sparing(replay, allowance))
        results = results_of(words.templates, tries)
    further = [] if model else calls_on_results(kind, results)
    further = [call for call in further if not {_without_end(call.name), method_name(call.name)} & {*leave_out}]
    if awaited or any(call.form is not Form.READ for call in offered):
        further = [call for call in further if awaited or not call.is_async]
    elif any(call.is_async for call in further):  # nothing but attributes with locks for tasks, and the like
        of_async = dict.fromkeys(_without_end(call.name) for call in further if call.is_async)
        return _of_class(kind, makes, target, model, leave_out, [*of_async])
    if further:
        words = vocabulary_of([*offered, *further], Sparing(replay, allowance))
    if not any(hasattr(kind, next(template.smallest(0)).attribute) for template in words.templates):
        reasons = (*left_out, *words.left_out)
        what = f"; left out: {', '.join(reasons)}" if reasons else ""
        raise TargetError(f"{target} has no public methods that can be called{what}; write a kcache.testing.Machine")
    templates = tuple(words.templates)
    probed = Probed(templates, replay, allowance)
    replay.driver = partial(driver, untold=probed.unsteady | probed.untried)
    endless = [f"{name} (it never returned in one thread)" for name in probed.endless()]
    impossible = (
        *(f"{name} (it is too slow to be tried often enough)" for name in sorted(probed.untried)),
        *words.left_out,
        *endless,
        *(f"{name} (it raised {error} for all values that were tried)" for name, error in probed.refused()),
    )
    is_incomparable = {template.name for template in templates} <= probed.unsteady
    unread = unread_attributes(instance)
    on_results = {call.name for call in further}
    not_made = {text.partition("(")[0].strip() for text in impossible} & on_results
    not_made |= {call.name for call in further if call.after in not_made}
    not_made |= {f"{name.removesuffix('.enter')}.exit" for name in not_made if name.endswith(".enter")}
    of_children = returned_by_children(kind, results, [call for call in further if call.name not in not_made])
    refused = {text.partition("(")[0].strip() for text in impossible} & of_children.keys()
    templates = tuple(template for template in templates if template.name not in probed.untried | not_made | refused)
    inherited = {call.name for call in offered if call.is_inherited}
    named = (
        *left_out,
        *(text for text in impossible if text.partition("(")[0].strip() not in not_made | refused),
        *(
            f"what {name} returns (it raised for all values that were tried; {of_children[name]} did not)"
            for name in sorted(refused)
        ),
        *(
            f"{name} ({VARIES})" if is_incomparable else f"what {name} returns (it differs from run to run)"
            for name in sorted(probed.unsteady - not_made)
        ),
        *(f"{template.name} ({UNREAD})" for template in templates if unread and probed.returns_nothing),
        *(
            f"what {name} returns (it is a {of}; only plain values are read)"
            for name, of in unread.items()
            if of not in _CONSTANT
        ),
        *(f"what {name} returns ({what})" for name, what in probed.with_methods(kind, not_made)),
    )
    named = tuple(text for text in named if method_name(text) not in inherited)
    named += tuple(dict.fromkeys(_not_by_threads(kind, [*offered, *further], awaited)))
    timing = Replay(target, makes, driver)
    replayed = ReplaySpecification(replay, is_of_target=not model, timing=timing if model else None)
    # Most names of calls that end something come later than the names of those that begin it.
    replayed.calls = [call for template in reversed(templates) for call in template.smallest(0)]
    replayed.has_all_calls = not leave_out and {*impossible} <= {*endless}
    reads = frozenset(probed.reads())
    return _Calls(templates, named, replay.driver, replayed, bool(model), bool(probed.objects), reads)


def _not_by_threads(kind: type, offered: Sequence[PublicCall], awaited: Sequence[str]) -> Iterator[str]:
    """Yield the calls that several threads do not make at once, each with the reason."""
    for call in offered:
        name = method_name(call.name) if call.of is None else _without_end(call.name)
        if call.is_inherited and not call.weight:
            yield f"{name} by threads ({defining_class(kind, name).__name__} defines it, without the class's locks)"
        elif awaited and not call.is_async and not call.is_inherited and call.form is not Form.READ:
            why = "the class is async, so one loop makes all calls; threads make them with"
            yield f"{name} by threads ({why} {' '.join(f'--leave-out {each}' for each in awaited)})"


def _without_end(name: str) -> str:
    """Return the name of a call on a result without the end of its block."""
    return name.removesuffix(".enter").removesuffix(".exit")


def _calls_of_shared_state(kind: type, makes: Callable[[], Any], target: str) -> list[PublicCall]:
    """Return the class methods and static methods that return, if one of them changes state that all objects share.

    Other class methods, such as constructors, have nothing that threads could disturb.
    """
    calls = class_calls(kind)
    replay = Replay(target, makes, PlainDriver)
    words = vocabulary_of(calls, Sparing(replay, Allowance())) if calls else ClassVocabulary()
    names = {template.name for template in words.templates}
    for template in words.templates:
        replay.on_real_threads((next(template.smallest(0)),))
    states = shared_states(makes)
    for state in states:
        state.restore()
    return [call for call in calls if call.name in names] if any(state.has_changed for state in states) else []


def _require_methods(target: str, leave_out: Sequence[str], known: Sequence[str]) -> None:
    """Refuse names of methods that do not exist.

    Raises:
        TargetError: a name is not the name of a public method.
    """
    names = sorted(set(map(method_name, known)))
    on_results = set(map(result_name, known))
    for name in leave_out:
        if name not in names and name.partition(".")[0] not in on_results:
            close = difflib.get_close_matches(name, names, 1)
            hint = f"; did you mean {close[0]}?" if close else f"; its methods are {', '.join(names)}"
            raise TargetError(f"{target} has no public method {name}, so it cannot be left out{hint}")


def _specified(instance: object, target: str, name: str) -> _Calls:
    """Return the calls of a class that a specification knows, by their names in the specification."""
    specification = specification_named(name)
    known: Vocabulary = getattr(specification, "vocabulary", ())
    offered = tuple(template for template in known if callable(getattr(instance, template.name, None)))
    if not offered:
        calls = ", ".join(template.name for template in known) or "none; add a vocabulary to it"
        raise TargetError(f"{target} has none of the calls of {name}: {calls}")
    driver = AwaitingDriver if async_methods(type(instance)) else PlainDriver
    return _Calls(offered, (), driver, specification, has_checks=True)


def _loaded(name: str) -> tuple[type, Callable[[], Any]]:
    """Return the class with a name, or the class of a function's result, and the callable that creates its objects."""
    makes: Any = load_object(name, wanted="Class")
    kind = makes.func if isinstance(makes, Applied) else makes
    if isinstance(kind, type):
        return kind, makes
    if not callable(kind):
        raise TargetError(f"{name} is a {type(kind).__name__}, not a class")
    kind = type(_create(makes, name))
    if kind.__module__ == "builtins":
        raise TargetError(
            f"{name} returns a {kind.__name__}, not an object of a class that can be checked; to check a test, add "
            "--type test"
        )
    return kind, makes


def _created(driver: type[PlainDriver], makes: Callable[[], Any]) -> object:
    """Create an object as calls of the driver need it: in an event loop if its methods are async."""
    return makes() if driver is PlainDriver else created_in_loop(makes)


def _create(makes: Callable[[], Any], name: str, what: str = "an object") -> object:
    try:
        return makes()
    except (Exception, SystemExit) as error:
        more = "" if name.endswith(")") else f"; if it needs arguments, write them: '{name}(2)'"
        raise TargetError(f"creating {what} of {name} raised {error_text(error)}{more}") from error


def _compared_subject(machine: Any) -> object:
    """Create the object that the rules are called on one after another: the machine's model, or a subject."""
    makes = type(machine).model
    return machine.subject() if makes is None else makes()
