"""Name of a target: its location, its attribute there, and optionally the arguments of a call."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import TargetError


@dataclass(frozen=True)
class Applied:
    """A callable with the arguments of its call; each call gets a deep copy of the arguments.

    Attributes:
        func: the callable.
        arguments: the positional arguments.
        keywords: the keyword arguments.
    """

    func: Callable[..., Any]
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]

    def __call__(self) -> Any:
        """Call ``func`` with copies of the arguments."""
        return self.func(*copy.deepcopy(self.arguments), **copy.deepcopy(dict(self.keywords)))


@dataclass(frozen=True)
class TargetName:
    """A parsed name: ``cachetools:LRUCache(2)``.

    Attributes:
        location: a module, or the path of a file.
        attribute: the name within the module, with dots if it is nested.
        call: the arguments as Python code, in parentheses; empty if the name has none.
    """

    location: str
    attribute: str
    call: str = ""

    @property
    def module(self) -> str | None:
        """The name of the module; ``None`` if the location is a file."""
        return None if self.location.endswith(".py") else self.location

    def applied(self, target: Any) -> Any:
        """Return ``target`` with the arguments bound to it; ``target`` itself if the name has no call.

        Raises:
            TargetError: the arguments are not plain values.
        """
        if not self.call:
            return target
        positional, named = self.arguments()
        return Applied(target, positional, named)

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the positional and the keyword arguments. The text is never evaluated: only literals are accepted.

        Raises:
            TargetError: the arguments are not plain values.
        """
        try:
            call = ast.parse(f"f{self.call}", mode="eval").body
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):  # f(1)(2)
                raise ValueError(self.call)
            if not all(keyword.arg for keyword in call.keywords):  # f(**{"size": 1})
                raise ValueError(self.call)
            positional = tuple(ast.literal_eval(argument) for argument in call.args)
            named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
            what = f"{self.attribute}{self.call}: the arguments must be plain values, such as (2, ttl=9)"
            raise TargetError(what) from None
        return positional, named


def target_name(spec: str) -> TargetName:
    """Parse ``package.module:name`` or ``path/to/file.py:name``, optionally with arguments in parentheses."""
    head, bracket, arguments = spec.partition("(")
    location, _, attribute = head.rpartition(":")
    return TargetName(location, attribute, f"{bracket}{arguments}")
