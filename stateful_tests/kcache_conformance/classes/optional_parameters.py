"""Optional parameters: the values that are sometimes passed for them.

Most calls omit them, and each value is passed by name. A value is only kept if a call returns with it: ``mode="a"``
may be invalid for a method.

Small programs pass one at a time, and random ones several.

Alternatives. To pass all of them in all combinations makes the number of small programs many times as large; to pass
none of them leaves whole branches of a method untested.
"""

from __future__ import annotations

import enum
import inspect
import typing
from collections.abc import Sequence
from typing import Any, Final

from kcache_model.errors import TargetError

from .argument_values import Values, first_values, is_callable, is_unknown, names_callable, names_file, names_key


class _Absent:
    """A placeholder for a value: the parameter is not passed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "absent"


ABSENT: Final = _Absent()

MOST_OPTIONAL: Final = 4
"""The most optional parameters of one method that are passed: each adds a call of the method to small programs."""

_MOST_VALUES: Final = 2
_SHORT_SECONDS: Final = 0.01
"""A timeout: long enough to wait, and short on real threads as well."""

_LONG_SECONDS: Final = 60
"""A time to live. With real threads, a shorter one would sometimes expire."""

_WAITS: Final = frozenset(("delay", "interval", "patience", "period", "timeout", "wait"))
_LIVES: Final = frozenset(("age", "expiration", "expire", "expires", "expiry", "lifetime", "ttl"))
_TIMES: Final = frozenset(
    (
        *("at", "date", "deadline", "now", "since", "time", "timestamp", "until", "when"),
        *("days", "duration", "hours", "millis", "minutes", "ms", "sec", "seconds", "secs"),
    )
)
"""Points in time, and durations whose names do not show whether a thread waits that long."""

_AMOUNTS: Final = frozenset(
    ("amount", "by", "count", "cost", "limit", "max", "n", "num", "number", "priority", "size", "step", "times")
)
_ANYTHING: Final = frozenset(("default", "item", "value"))


def values_of_optional(parameter: inspect.Parameter, methods: Sequence[str] = ()) -> Values:
    """Return values that may be passed in place of a default; empty if no value can be guessed.

    Args:
        parameter: a parameter with a default.
        methods: see :func:`~.argument_values.first_values`.
    """
    default = parameter.default
    values: list[Any] = []
    for value in _candidates(parameter, methods):
        is_new = all(type(value) is not type(one) or value != one for one in (default, *values))
        if is_new:
            values.append(value)
    return values[:_MOST_VALUES]


def _candidates(parameter: inspect.Parameter, methods: Sequence[str]) -> Sequence[Any]:
    default, words = parameter.default, frozenset(parameter.name.lower().split("_"))
    if names_file(parameter) or words & _TIMES:
        return ()
    if isinstance(default, bool):
        return (not default,)
    if isinstance(default, enum.Enum):
        return tuple(type(default))
    is_number = isinstance(default, (int, float)) or default is None
    if is_number and words & _LIVES:
        return (_LONG_SECONDS if default is None else type(default)(_LONG_SECONDS),)
    if is_number and words & _WAITS:
        return (_SHORT_SECONDS,)
    if is_callable(parameter.annotation) or (default is None and names_callable(parameter)):
        return _first(parameter, methods)
    if isinstance(default, (int, float, str)):
        return _first(parameter.replace(annotation=type(default)), methods)
    if default is not None:
        return ()
    annotation = _without_none(parameter.annotation)
    if not is_unknown(annotation):
        return _first(parameter.replace(annotation=annotation), methods)
    if words & (_AMOUNTS | _ANYTHING) or names_key(parameter):
        return _first(parameter.replace(annotation=inspect.Parameter.empty), methods)
    return ()


def _first(parameter: inspect.Parameter, methods: Sequence[str]) -> Values:
    try:
        return first_values(parameter, methods)
    except TargetError:
        return ()


def _without_none(annotation: Any) -> Any:
    """Return ``X`` for ``X | None``; any other annotation unchanged."""
    others = [one for one in typing.get_args(annotation) if one is not type(None)]
    is_optional = len(others) == 1 and type(None) in typing.get_args(annotation)
    return others[0] if is_optional else annotation
