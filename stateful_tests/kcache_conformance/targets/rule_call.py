"""Calls of machine rules; this module does not import Hypothesis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from kcache_model.object_types.plain import MethodCall


@dataclass(frozen=True, slots=True)
class RuleCall(MethodCall):
    """A call of a rule on a subject of its machine.

    Attributes:
        parameters: the names of its arguments.
    """

    making: ClassVar[tuple[str, ...]] = ("machine = {}", "subject = machine.subject()")
    parameters: tuple[str, ...] = field(default=(), compare=False)

    def code(self, literal: Callable[[object], str] = repr) -> str:
        """Return the Python source of the call; :attr:`making` is the source that comes before."""
        arguments = (f"{name}={literal(value)}" for name, value in zip(self.parameters, self.arguments, strict=True))
        return f"machine.{self.name}({', '.join(('subject', *arguments))})"
