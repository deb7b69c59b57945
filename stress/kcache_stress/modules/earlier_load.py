"""Facts of modules that another sandbox of this process has loaded: the next one need not load them twice.

A sandbox loads its modules once without instrumentation, to collect the facts with which they are instrumented, and
once with these facts. One class is loaded by several sandboxes: for the explorer, for replays, and for each
granularity. Those after the first one begin with the facts of the first one. If the modules have changed meanwhile, the
facts that a sandbox reads are others, or it meets other packages: then it begins again, without facts.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping
from dataclasses import dataclass
from typing import Final

from ..instrument.facts import Facts
from .private_packages import Kind


@dataclass(frozen=True)
class EarlierLoad:
    """The first load of a sandbox, before any execution.

    Attributes:
        facts: all facts, also of modules that were only read for them.
        read: the facts of the modules that were loaded last.
        kinds: the kind of each package that they import.
    """

    facts: Facts
    read: Facts
    kinds: Mapping[str, Kind]

    def fits(self, read: Facts, units: Container[str | None]) -> bool:
        """Whether a load with these facts has read the same ones, and has met the same packages."""
        return read == self.read and all(unit in units for unit in self.kinds)


EARLIER_LOADS: Final[dict[Hashable, EarlierLoad]] = {}
"""Roots of a sandbox, the module that it has loaded first, and those it expected -> that load."""
