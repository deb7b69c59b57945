"""The function that is fuzzed."""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kcache_model.errors import TargetError
from kcache_stress.loading import load_object

from .judging.outcome import with_article
from .rules import Kind

_NO_TYPE = (Any, object, None, inspect.Parameter.empty, dict, typing.Mapping)


@dataclass(frozen=True)
class Subject:
    """An index function or a key function.

    Attributes:
        function: takes one object.
        kind: which of the two.
        name: how reports call it.
        spec: how another process loads it; ``None`` if it cannot.
    """

    function: Callable[[Any], Any]
    kind: Kind
    name: str
    spec: str | None = None

    @property
    def annotation(self) -> Any:
        """The type that the function says it takes; ``None`` if it does not say, or says nothing useful."""
        target = self.function if inspect.isroutine(self.function) else type(self.function).__call__
        try:
            hints = typing.get_type_hints(target, include_extras=True)
            parameter = next(iter(inspect.signature(self.function).parameters))
        except Exception:
            return None
        found = hints.get(parameter)
        origin = typing.get_origin(found)
        is_vague = (
            found in _NO_TYPE
            or isinstance(found, typing.TypeVar)
            or origin in (dict, typing.get_origin(typing.Mapping[str, Any]))
        )
        return None if is_vague or getattr(found, "_is_protocol", False) else found


def make_subject(function: object, kind: Kind, name: str | None = None, spec: str | None = None) -> Subject:
    """A subject from a function.

    Raises:
        TargetError: it cannot be called with one object.
    """
    shown = name or spec or str(getattr(function, "__qualname__", repr(function)))
    if not callable(function):
        raise TargetError(f"{shown} is {with_article(type(function).__name__)}; it must be a function of one object")
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        signature = inspect.signature(function)
        raise TargetError(f"{shown} takes {signature}; it is called with one object") from None
    except ValueError:
        pass  # a function of C has no signature
    return Subject(function, kind, shown, spec)


def load_subject(spec: str, kind: Kind) -> Subject:
    """The function called ``pkg.mod:name`` or ``path/to/file.py:name``.

    Raises:
        TargetError: there is no such function; the message says what to do.
    """
    found = load_object(spec, wanted="function")
    module = str(getattr(found, "__module__", None) or "").partition(".")[0]
    if inspect.isbuiltin(found) or module in sys.stdlib_module_names - {"functools"}:
        raise TargetError(f"{spec} belongs to Python itself; name a function of your own")
    return make_subject(found, kind, spec=spec)
