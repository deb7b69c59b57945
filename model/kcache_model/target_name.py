"""Name of a target: where it is, and with which arguments it is called, if it says so."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import TargetError


@dataclass(frozen=True)
class Applied:
    """Something with the arguments with which it is called, which are copied each time.

    Attributes:
        func: what is called.
        arguments: by position.
        keywords: by name.
    """

    func: Callable[..., Any]
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]

    def __call__(self) -> Any:
        """Call it."""
        return self.func(*copy.deepcopy(self.arguments), **copy.deepcopy(dict(self.keywords)))


@dataclass(frozen=True)
class TargetName:
    """A name taken apart: ``cachetools:LRUCache(2)``.

    Attributes:
        location: a module, or the path of a file.
        attribute: what it is called there, dotted where it is within something.
        call: the arguments as Python writes them, in brackets; empty if there are none.
    """

    location: str
    attribute: str
    call: str = ""

    @property
    def module(self) -> str | None:
        """The module; ``None`` if a file is named."""
        return None if self.location.endswith(".py") else self.location

    def applied(self, found: Any) -> Any:
        """What is found under the name, with the arguments: something that can be called without any.

        Raises:
            TargetError: the arguments are not plain values.
        """
        if not self.call:
            return found
        given, named = self.arguments()
        return Applied(found, given, named)

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of the call, by position and by name. Nothing but plain values is ever made of the text.

        Raises:
            TargetError: the arguments are not plain values.
        """
        try:
            call = ast.parse(f"f{self.call}", mode="eval").body
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):  # f(1)(2)
                raise ValueError(self.call)
            if not all(keyword.arg for keyword in call.keywords):  # f(**{"size": 1})
                raise ValueError(self.call)
            given = tuple(ast.literal_eval(argument) for argument in call.args)
            named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
            what = f"{self.attribute}{self.call}: the arguments must be plain values, such as (2, ttl=9)"
            raise TargetError(what) from None
        return given, named


def target_name(spec: str) -> TargetName:
    """A name taken apart: ``package.module:name`` or ``path/to/file.py:name``, perhaps with arguments in brackets."""
    head, bracket, arguments = spec.partition("(")
    location, _, attribute = head.rpartition(":")
    return TargetName(location, attribute, f"{bracket}{arguments}")
