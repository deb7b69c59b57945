"""Classes of the standard library whose values can be generated, and the calls that create the values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo


@dataclass(frozen=True)
class Making:
    """The call that creates an instance of a class.

    Attributes:
        arguments: instance -> positional arguments that create an equal instance.
        simplest: the arguments of the simplest instance.
    """

    arguments: Callable[[Any], tuple[Any, ...]]
    simplest: tuple[Any, ...]


def _of_text(simplest: str) -> Making:
    return Making(lambda value: (str(value),), (simplest,))


def _clock(value: time) -> tuple[Any, ...]:
    hour = (value.hour, value.minute, value.second, value.microsecond)
    return hour if value.tzinfo is None else (*hour, value.tzinfo)


MAKINGS: dict[type, Making] = {
    date: Making(lambda value: (value.year, value.month, value.day), (2000, 1, 1)),
    time: Making(_clock, (0, 0, 0, 0)),
    timedelta: Making(lambda value: (value.days, value.seconds, value.microseconds), (0, 0, 0)),
    timezone: Making(lambda value: value.__getinitargs__(), (timedelta(),)),
    ZoneInfo: Making(lambda value: (value.key,), ("UTC",)),
    UUID: _of_text(str(UUID(int=0))),
    Decimal: _of_text("0"),
    Fraction: Making(lambda value: (value.numerator, value.denominator), (0, 1)),
    complex: Making(lambda value: (value.real, value.imag), (0.0, 0.0)),
    IPv4Address: _of_text("0.0.0.0"),
    IPv6Address: _of_text("::"),
    IPv4Network: _of_text("0.0.0.0/32"),
    IPv6Network: _of_text("::/128"),
    IPv4Interface: _of_text("0.0.0.0/32"),
    IPv6Interface: _of_text("::/128"),
    Path: _of_text("."),
    PurePosixPath: _of_text("."),
    PureWindowsPath: _of_text("."),
}
"""Class -> the call that creates an instance."""

STANDARD_TYPES = frozenset({*MAKINGS, tzinfo, PurePath, bytearray})
"""The classes that are supported in annotations; for abstract classes, instances of subclasses are generated."""

_OWN_CLASS = {type(Path()): Path}
"""The platform's class of paths, such as PosixPath -> ``Path``."""
_BY_NAME = {f"{kind.__module__.partition('.')[0]}:{kind.__qualname__}": kind for kind in MAKINGS}
_NAMES = {kind: name for name, kind in _BY_NAME.items()}


def standard_name(kind: type) -> str | None:
    """Return the name ``module:class`` of a class in :data:`MAKINGS`; ``None`` for any other class."""
    return _NAMES.get(_OWN_CLASS.get(kind, kind))


def standard_class(name: str) -> type:
    """Return the class with this name.

    Raises:
        LookupError: no class has this name.
    """
    return _BY_NAME[name]
