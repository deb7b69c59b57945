"""Vocabulary and driver of machines: their rules as calls with plain arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from kcache_model.errors import TargetError
from kcache_model.object_types.awaiting_driver import AwaitingDriver
from kcache_model.object_types.plain import MethodCall, PlainDriver, plain_value
from kcache_model.object_types.vocabulary import OperationTemplate
from kcache_model.target_name import Applied

from ..targets.rule_call import RuleCall
from .machine import Machine, MachineRule, rules_of

_DRAWN: Final = 40
_NONE_CHECKED: Final[Any] = tuple(HealthCheck)
_MOST_VALUES: Final = 5
_SMALL: Final = 2


def machine_vocabulary(kind: type[Machine]) -> tuple[OperationTemplate, ...]:
    """Return the rules of a machine, each with a few values for its arguments; invariants are reads.

    Raises:
        TargetError: the machine has no rules, or values that are not plain.
    """
    rules = rules_of(kind)
    if all(rule.is_invariant for rule in rules.values()):
        raise TargetError(f"{kind.__name__} has no rules; write @kcache.testing.rule() above a method")
    return tuple(_template(kind, name, rule) for name, rule in rules.items())


def _template(kind: type[Machine], name: str, rule: MachineRule) -> OperationTemplate:
    if rule.arguments is None:
        return OperationTemplate(name, lambda _: RuleCall(name, (), is_write=False), weight=0.1)
    parameters = tuple(rule.arguments)
    values = [_values(f"{kind.__name__}.{name}", argument, strategy) for argument, strategy in rule.arguments.items()]
    return OperationTemplate(
        name,
        lambda _number, *chosen: RuleCall(name, chosen, parameters=parameters),
        tuple(values),
        small=tuple(choice[:_SMALL] for choice in values),
    )


def _values(where: str, argument: str, strategy: st.SearchStrategy[Any]) -> tuple[Any, ...]:
    """Return the first distinct values of a strategy, simple ones first."""
    values: dict[Any, None] = {}

    @settings(
        max_examples=_DRAWN,
        derandomize=True,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=_NONE_CHECKED,
    )
    @given(strategy)
    def draw(value: Any) -> None:
        if plain_value(value) != value and not isinstance(value, (list, tuple)):
            raise TargetError(
                f"{where}: {argument} may be {value!r}, which is not plain; draw a number or a text, and create the "
                "argument of the subject from it in the rule"
            )
        values[plain_value(value)] = None

    try:
        draw()
    except InvalidArgument as error:
        raise TargetError(
            f"{where}: {argument} cannot be drawn without a run of Hypothesis, which bundles and runner() need; for "
            "threads, draw a number or a text, such as st.sampled_from('ab')"
        ) from error
    return tuple(list(values)[:_MOST_VALUES])


class _Ruled:
    """The rules of a machine, for the calls of a driver."""

    def __init__(self, machine: Callable[[], Any]) -> None:
        kind: Any = machine.func if isinstance(machine, Applied) else machine
        self.machine = kind.__new__(kind)  # __init__ would make it part of a run of Hypothesis
        self._rules = rules_of(kind)

    def result(self, operation: MethodCall, subject: Any) -> Any:
        """Return the result of the rule as an object; its exceptions pass through."""
        rule = self._rules[operation.name]
        arguments = dict(zip(rule.arguments or (), operation.arguments, strict=True))
        return rule.function(self.machine, subject, **arguments)


def _subject_of(machine: Any) -> Any:
    return machine.subject()


class MachineDriver(PlainDriver):
    """One subject, and the calls of a machine's rules on it."""

    def __init__(
        self, machine: Callable[[], Any], _: Any, /, *, makes: Callable[[Any], Any] = _subject_of, **more: Any
    ) -> None:
        self._ruled = ruled = _Ruled(machine)
        super().__init__(lambda: makes(ruled.machine), _, **more)

    def value_of(self, operation: MethodCall, thread: int) -> object:  # noqa: ARG002
        """Return the result of the rule as an object, and pass on its exceptions."""
        return self._ruled.result(operation, self.made)


class AsyncMachineDriver(AwaitingDriver):
    """One subject, and the calls of a machine's rules on it, some of which are async."""

    def __init__(
        self, machine: Callable[[], Any], _: Any, /, *, makes: Callable[[Any], Any] = _subject_of, **more: Any
    ) -> None:
        self._ruled = ruled = _Ruled(machine)
        super().__init__(lambda: makes(ruled.machine), _, **more)

    def value_of(self, operation: MethodCall, thread: int) -> object:
        """Return the result of the rule as an object, and pass on its exceptions."""

        async def result() -> object:
            value = self._ruled.result(operation, self.made)
            return await value if inspect.iscoroutine(value) else value

        return self.in_loop(result, thread)


def driver_of(kind: type[Machine]) -> type[MachineDriver] | type[AsyncMachineDriver]:
    """Return the driver of a machine: its calls run in an event loop if a rule is async."""
    is_async = any(inspect.iscoroutinefunction(rule.function) for rule in rules_of(kind).values())
    return AsyncMachineDriver if is_async else MachineDriver
