"""Machine: a Hypothesis state machine whose rules also run in several threads at once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, multiple
from hypothesis.stateful import invariant as hypothesis_invariant
from hypothesis.stateful import rule as hypothesis_rule

_MARK: Final = "kcache_rule"
"""The attribute of a method that is a rule, or an invariant."""

_BUNDLES: Final = ("target", "targets")
_NONE: Final = object()


@dataclass(frozen=True)
class MachineRule:
    """A rule, or an invariant.

    Attributes:
        function: called with the machine, the subject, and a value for each argument.
        arguments: name -> the strategy for its values; ``None`` for an invariant.
    """

    function: Callable[..., Any]
    arguments: Mapping[str, st.SearchStrategy[Any]] | None

    @property
    def is_invariant(self) -> bool:
        """Whether it is an invariant, which only reads the subject."""
        return self.arguments is None


class Machine(RuleBasedStateMachine):
    """Base of state machines about one subject; ``.TestCase`` runs it in one thread, as in Hypothesis.

    A subclass defines the creation of a subject, and the calls, each a method with :func:`rule`. The outcome of a call
    is the method's result or the type of its exception. Without ``model``, the outcomes of several threads must equal
    the outcomes of the calls in some order on another subject. With ``model``, they must equal the outcomes of the same
    rules on the model, in one thread as well.
    """

    model: ClassVar[Callable[[], Any] | None] = None
    """Creates a plain object with the methods that the rules call."""

    def subject(self) -> Any:
        """Return a new subject."""
        raise NotImplementedError(
            f"{type(self).__name__} has no subject(); define it: it returns a new object under test"
        )

    def __init__(self) -> None:
        super().__init__()
        self._subject = self.subject()
        own: Any = type(self)
        makes = own.model
        self._modelled = _NONE if makes is None else makes()

    def _step(self, rule: MachineRule, arguments: Mapping[str, Any]) -> Any:
        """Call a rule on the subject and on the model, whose outcomes must be equal; return its bundle values."""
        if self._modelled is _NONE:
            return self._call(rule, self._subject, arguments)
        got, expected = (self._outcome(rule, subject, arguments) for subject in (self._subject, self._modelled))
        if got != expected:
            text = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
            raise AssertionError(
                f"{rule.function.__name__}({text}) {_described(got)}; the model {_described(expected)}"
            )
        return multiple() if got[0] else got[1]

    def _call(self, rule: MachineRule, subject: Any, arguments: Mapping[str, Any]) -> Any:
        """Call a rule and return its result; an async rule runs in the event loop of the machine."""
        result = rule.function(self, subject, **arguments)
        if not inspect.iscoroutine(result):
            return result
        import asyncio  # most machines do not need it

        runner = vars(self).setdefault("_runner", asyncio.Runner())
        return runner.run(result)

    def _outcome(self, rule: MachineRule, subject: Any, arguments: Mapping[str, Any]) -> tuple[str, Any]:
        try:
            return "", self._call(rule, subject, arguments)
        except Exception as error:
            return type(error).__name__, None

    def teardown(self) -> None:
        """Close the event loop of the machine, if it has one; an override calls this method."""
        runner = vars(self).pop("_runner", None)
        if runner is not None:
            runner.close()
        super().teardown()


def rule(**arguments: st.SearchStrategy[Any]) -> Callable[[Callable[..., Any]], Any]:
    """A call of the subject: ``@rule(key=st.sampled_from("ab")) def get(self, cache, key): return cache.get(key)``.

    If it is called with a subject, it is the plain function: ``machine.get(machine.subject(), "a")``.

    Args:
        arguments: a strategy for each argument after the subject. In threads, a few of its values are tried, and
            they must be plain: numbers, texts, truth values, ``None``. ``target`` and ``targets`` name bundles.
    """
    drawn = {name: strategy for name, strategy in arguments.items() if name not in _BUNDLES}

    def decorated(function: Callable[..., Any]) -> Any:
        known = MachineRule(function, drawn)

        @functools.wraps(function)
        def stepped(self: Machine, *subject: Any, **values: Any) -> Any:
            if subject:
                return function(self, *subject, **values)
            result = self._step(known, values)
            return result if len(drawn) < len(arguments) else None  # Hypothesis wants none where there is no bundle

        vars(stepped)[_MARK] = known
        del vars(stepped)["__wrapped__"]  # Hypothesis looks at the parameters of what it calls
        hypothesis_decorator: Any = hypothesis_rule
        return hypothesis_decorator(**arguments)(stepped)

    return decorated


def invariant() -> Callable[[Callable[..., Any]], Any]:
    """Declare a condition of the subject that holds after each step; with threads, after all have ended."""

    def decorated(function: Callable[..., Any]) -> Any:
        known = MachineRule(function, None)

        @functools.wraps(function)
        def looked(self: Machine, *subject: Any) -> None:
            function(self, *subject or (self._subject,))

        vars(looked)[_MARK] = known
        del vars(looked)["__wrapped__"]
        return hypothesis_invariant()(looked)

    return decorated


def rules_of(kind: type[Machine]) -> dict[str, MachineRule]:
    """Return name -> rule of a machine, including invariants, sorted by name."""
    return {
        name: known
        for name in sorted(dir(kind))
        if isinstance(known := getattr(getattr(kind, name, None), _MARK, None), MachineRule)
    }


def _described(outcome: tuple[str, Any]) -> str:
    error, value = outcome
    return f"raised {error}" if error else f"gave {value!r}"
