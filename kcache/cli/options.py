"""Types and options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from kcache import Semantics
from kcache_stress.loading import REFERENCE

F = TypeVar("F", bound=Callable[..., Any])

_UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_LONGEST_SECONDS = 7 * 24 * 3600.0


def duration(_context: click.Context, _parameter: click.Parameter, value: str) -> float:
    """Option callback: seconds from ``30``, ``30s``, ``2m`` or ``1.5h``."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|)", value.strip())
    if found is None:
        raise click.BadParameter(f"{value!r} is no duration; write for example 30s, 2m or 1.5h")
    seconds = float(found[1]) * _UNITS[found[2]]
    if not 0 < seconds <= _LONGEST_SECONDS:
        raise click.BadParameter(f"{value!r} is out of range; give more than 0 and at most 7 days")
    return seconds


def target_argument(function: F) -> F:
    """The TARGET argument."""
    return click.argument("target", default=REFERENCE)(function)


def semantics_option(function: F) -> F:
    """``--semantics``."""
    return click.option(
        "--semantics",
        type=click.Choice([semantics.value for semantics in Semantics]),
        default=Semantics.CLASSIC.value,
        show_default=True,
        help="client-go v0.18 to v0.29 (classic), or v0.30 and later (current), which allows add_indexers on a store "
        "that holds objects.",
    )(function)


def strict_errors_option(function: F) -> F:
    """``--strict-errors``."""
    return click.option(
        "--strict-errors", is_flag=True, help="Ask for kcache's error types, not just for an error where one is due."
    )(function)


def patience_option(function: F) -> F:
    """``--patience``."""
    return click.option(
        "--patience",
        callback=duration,
        metavar="DURATION",
        default="3s",
        show_default=True,
        help="How long one call may take before it counts as hung.",
    )(function)
