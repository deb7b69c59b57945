"""Target types of classes: ``class=TARGET`` and ``class=TARGET=SPEC``, made of the class when they are asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from kcache_model.errors import TargetError
from kcache_model.object_types.object_type import Driver
from kcache_model.object_types.plain import ObjectProgram, PlainDriver, object_type
from kcache_model.object_types.replayed import Calls, ReplaySpecification
from kcache_model.outcomes import Outcome, error_text
from kcache_stress.loading import load_object

from ..objects.as_target_type import target_type
from ..objects.sequential import PatientCaller
from ..target_type import TargetType
from . import PREFIX
from .signatures import vocabulary_of

_PATIENCE_SECONDS: Final = 0.5
_MODEL_PHASES: Final = ("smoke", "stateful", "explorer", "stress")
_OWN_PHASES: Final = ("explorer", "stress")
"""In one thread a class always does what it does itself."""


def class_type(name: str) -> TargetType:
    """The type of a class, by its name.

    Raises:
        TargetError: there is no such class or model, its objects cannot be made, or none of its methods can be called.
    """
    target, _, model = name.removeprefix(PREFIX).partition("=")
    kind = _loaded(target)
    makes = _loaded(model) if model else kind
    words = vocabulary_of(kind, _made(kind, target))
    if not words.templates:
        what = f"; {', '.join(words.left_out)} need values that are not known" if words.left_out else ""
        raise TargetError(f"{target} has no public methods that can be called{what}; write a kcache.testing.Machine")
    found = target_type(
        object_type(
            name,
            reference=target,
            specification=ReplaySpecification(_Replay(makes)),
            vocabulary=words.templates,
            summary=f"a class whose {'model is ' + model if model else 'behaviour in one thread is its specification'}",
            called=kind.__name__.lower(),
        )
    )
    wanted = _MODEL_PHASES if model else _OWN_PHASES
    return replace(
        found,
        phases={phase: run for phase, run in found.phases.items() if phase in wanted},
        not_tested=lambda loaded: tuple(sorted({*loaded.unsupported, *words.left_out})),
    )


def _loaded(name: str) -> Any:
    kind = load_object(name, wanted="Class")
    if not isinstance(kind, type):
        raise TargetError(f"{name} is a {type(kind).__name__}, not a class")
    return kind


def _made(kind: type, name: str) -> object:
    try:
        return kind()
    except (Exception, SystemExit) as error:
        raise TargetError(
            f"{name}() raised {error_text(error)}; if it needs arguments, name a class that gives them: "
            f"class Mine({kind.__name__}): def __init__(self): super().__init__(...)"
        ) from error


class _Replay:
    """Makes calls on new objects of a class, in a thread that is left behind where a call does not return."""

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self._caller = PatientCaller()

    def __call__(self, calls: Calls) -> Outcome:
        driver: Driver = PlainDriver(self._kind, ObjectProgram(), passing=())
        outcome = Outcome()
        for call in calls:
            outcome, _ = self._caller.call(driver, call, _PATIENCE_SECONDS)
            if outcome.waits:
                break
        return outcome
