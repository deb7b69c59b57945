"""Memory that the process has taken."""

from __future__ import annotations

import sys

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

_UNITS = 1024 if sys.platform == "darwin" else 1
"""``getrusage`` counts bytes there, and kilobytes elsewhere."""


def is_over(megabytes: float) -> bool:
    """Whether this process ever had more memory in place. Infinity costs nothing to ask."""
    return megabytes < float("inf") and peak_megabytes() > megabytes


def peak_megabytes() -> float:
    """The most memory that this process ever had in place; 0 where the system does not tell."""
    if resource is None:
        return 0.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _UNITS / 1024
