"""Target types of classes: ``class=TARGET`` and ``class=TARGET=SPEC``, made of the class when they are asked for."""

from __future__ import annotations

import functools
from collections.abc import Callable
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
    kind, makes = _loaded(target)
    words = vocabulary_of(kind, _made(makes, target))
    compared = _loaded(model)[1] if model else makes
    if not words.templates:
        what = f"; {', '.join(words.left_out)} need values that are not known" if words.left_out else ""
        raise TargetError(f"{target} has no public methods that can be called{what}; write a kcache.testing.Machine")
    found = target_type(
        object_type(
            name,
            reference=target,
            specification=ReplaySpecification(_Replay(compared)),
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


def _loaded(name: str) -> tuple[type, Callable[[], Any]]:
    """The class of a name, and what makes its objects."""
    makes: Any = load_object(name, wanted="Class")
    kind = makes.func if isinstance(makes, functools.partial) else makes
    if not isinstance(kind, type):
        raise TargetError(f"{name} is a {type(kind).__name__}, not a class")
    return kind, makes


def _made(makes: Callable[[], Any], name: str) -> object:
    try:
        return makes()
    except (Exception, SystemExit) as error:
        more = "" if name.endswith(")") else f"; if it needs arguments, name them: '{name}(2)'"
        raise TargetError(f"making an object of {name} raised {error_text(error)}{more}") from error


class _Replay:
    """Makes calls on new objects of a class, in a thread that is left behind where a call does not return."""

    def __init__(self, makes: Callable[[], Any]) -> None:
        self._makes = makes
        self._caller = PatientCaller()

    def __call__(self, calls: Calls) -> Outcome:
        driver: Driver = PlainDriver(self._makes, ObjectProgram(), passing=())
        outcome = Outcome()
        for call in calls:
            outcome, _ = self._caller.call(driver, call, _PATIENCE_SECONDS)
            if outcome.waits:
                break
        return outcome
