"""A Machine of any class: its public methods are the rules, with the argument values of ``kcache check``."""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from hypothesis import strategies as st

from kcache_model.errors import TargetError
from kcache_model.history import PREFIX_THREAD
from kcache_model.object_types.awaiting_driver import awaited_value
from kcache_model.object_types.method_call import Form, MethodCall
from kcache_model.object_types.plain_driver import PlainDriver, plain_value
from kcache_model.object_types.vocabulary import OperationTemplate
from kcache_model.outcomes import error_text

from .machine import Machine, MachineRule, rule
from .public_calls import public_calls
from .vocabulary_choice import vocabulary_of


class MachineOfClass(Machine):
    """Base of the machines that :func:`machine_of` creates.

    Attributes:
        left_out: the methods that are not called: their values are unknown, or the user left them out.
    """

    left_out: ClassVar[tuple[str, ...]] = ()
    _calls: ClassVar[frozenset[Callable[..., Any]]] = frozenset()

    def _step(self, rule: MachineRule, arguments: Any) -> None:
        """Call a method: without a model, an exception is an outcome like any other, unless an assertion failed."""
        try:
            super()._step(rule, arguments)
        except AssertionError:
            raise
        except Exception:
            if rule.function not in self._calls:
                raise


def machine_of(
    kind: type, *arguments: Any, model: Callable[[], Any] | None = None, leave_out: Collection[str] = ()
) -> type[MachineOfClass]:
    """Create a machine whose rules are the public methods of a class; a subclass may add rules and invariants.

    The values of arguments come from annotations and names of parameters. A method without suitable values is left
    out; a warning and the machine's ``left_out`` name it.

    Args:
        kind: the class.
        arguments: the arguments for creating its objects.
        model: creates a plain object with the same methods, whose results are correct if calls run one at a time.
        leave_out: methods that are not called, without a warning.

    Raises:
        TargetError: no object can be created, no method can be called, or the model lacks a method.
    """
    instance = _create(kind, arguments)
    offered = public_calls(kind, instance)
    blocks = [call.name for call in offered if call.form is Form.ENTER]
    words = vocabulary_of([call for call in offered if call.form not in (Form.ENTER, Form.EXIT)])
    reasons = (*words.left_out, *(f"{name.partition('.')[0]}(its block: write a rule)" for name in blocks))
    unknown = tuple(text for text in reasons if text.partition("(")[0].strip() not in leave_out)
    templates = [template for template in words.templates if template.name not in leave_out]
    if not templates:
        what = f"; no values are known for {', '.join(unknown)}" if unknown else ""
        raise TargetError(f"{kind.__name__} has no public methods that can be called{what}; write rules of a Machine")
    if unknown:
        names = ", ".join(repr(text.partition("(")[0].strip()) for text in unknown)
        text = (
            f"machine_of({kind.__name__}) leaves out {', '.join(unknown)}: no values are known for them; write rules "
        )
        warnings.warn(f"{text}in a subclass, and machine_of(..., leave_out=[{names}])", stacklevel=2)
    parameters = {call.name: [one.name for one in call.parameters or ()] for call in offered}
    if model is not None:
        _require(model(), kind, [next(template.smallest(0)).attribute for template in templates])
    rules = {_rule_name(template.name): _called(template, parameters[template.name]) for template in templates}
    machine = type(
        f"{kind.__name__}Machine",
        (MachineOfClass,),
        {
            "__doc__": f"The public methods of {kind.__name__}.",
            "model": None if model is None else staticmethod(model),
            "subject": lambda _: kind(*arguments),
            "left_out": (*unknown, *leave_out),
            "_calls": frozenset(call for call, _ in rules.values()),
            **{name: rule(**strategies)(call) for name, (call, strategies) in rules.items()},
        },
    )
    _name(machine, sys._getframe(1).f_globals)
    return machine


def _create(kind: type, arguments: Sequence[Any]) -> object:
    if not isinstance(kind, type):
        raise TargetError(f"machine_of() takes a class, not {kind!r}")
    try:
        return kind(*arguments)
    except (Exception, SystemExit) as error:
        more = "" if arguments else f"; if it needs arguments, write them: machine_of({kind.__name__}, 2)"
        raise TargetError(f"creating an object of {kind.__name__} raised {error_text(error)}{more}") from error


def _require(modelled: object, kind: type, names: Sequence[str]) -> None:
    """Check that a model has all methods that are called.

    Raises:
        TargetError: a method is missing.
    """
    lacking = [name for name in names if not hasattr(modelled, name)]
    if lacking:
        raise TargetError(
            f"the model {type(modelled).__name__} has no {', '.join(lacking)}, but {kind.__name__} has: add it, or "
            f"write machine_of(..., leave_out={lacking})"
        )


def _called(
    template: OperationTemplate, names: Sequence[str]
) -> tuple[Callable[..., Any], dict[str, st.SearchStrategy[Any]]]:
    """Return the function of a rule, and the strategies of its arguments."""
    first: MethodCall = next(template.smallest(0))

    def call(machine: Machine, subject: Any, **values: Any) -> Any:
        method_call = replace(first, arguments=tuple(values[name] for name in names))
        return plain_value(_driver(machine, subject).value_of(method_call, PREFIX_THREAD))

    async def async_call(machine: Machine, subject: Any, **values: Any) -> Any:
        method_call = replace(first, arguments=tuple(values[name] for name in names))
        return plain_value(await awaited_value(_driver(machine, subject), method_call, PREFIX_THREAD))

    call = async_call if first.is_async else call
    call.__name__ = call.__qualname__ = template.name
    return call, {name: st.sampled_from(values) for name, values in zip(names, template.arguments, strict=True)}


def _driver(machine: Machine, subject: Any) -> PlainDriver:
    """Return the driver of a subject: all calls on one subject share their callbacks."""
    drivers: dict[int, PlainDriver] | None = vars(machine).get("_drivers")
    if drivers is None:
        drivers = {}
        setattr(machine, "_drivers", drivers)  # noqa: B010 - no attribute of machines
    if id(subject) not in drivers:
        drivers[id(subject)] = PlainDriver(lambda: subject, None)
    return drivers[id(subject)]


def _rule_name(name: str) -> str:
    """Return the name of a rule: the method's name, unless machines already have an attribute with it."""
    plain = name.replace(".", "_")
    return f"call_{plain.strip('_')}" if name.startswith("_") or hasattr(MachineOfClass, plain) else plain


def _name(machine: type, module: dict[str, Any]) -> None:
    """Let a process that imports the module find the machine, even if no variable refers to it."""
    candidates: Iterator[str] = (f"_{machine.__name__}{number or ''}" for number in itertools.count())
    machine.__module__ = module["__name__"]
    machine.__qualname__ = next(name for name in candidates if name not in module)
    module[machine.__qualname__] = machine
