"""A law of the pure code, a mutant of that code which breaks it, and what CrossHair says."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

Function = TypeVar("Function", bound=Callable[..., bool])


class Verdict(enum.StrEnum):
    """What CrossHair says of a law of the true code."""

    CONFIRMED = "confirmed over all paths"
    NOT_REFUTED = "no counterexample"
    """There were more paths than it was allowed to follow. This is no proof."""


@dataclass(frozen=True)
class Mutant:
    """A plausible slip in the code under test: in the source of ``module``, ``right`` becomes ``wrong``."""

    module: str
    right: str
    wrong: str

    def applied_to(self, source: str) -> str:
        """The source with the slip."""
        assert source.count(self.right) == 1, f"for its mutant to apply, {self.module} must hold once: {self.right}"
        return source.replace(self.right, self.wrong)


@dataclass(frozen=True)
class Law:
    """One law.

    Attributes:
        function: returns true, whatever its arguments, if the code under test is right. The line ``post: _`` of its
            docstring says so to CrossHair.
        mutant: what breaks it.
        verdict: what CrossHair says of the true code.
        paths: how many paths CrossHair may follow, through the true code and through the mutant. These are counted
            rather than seconds, so that a busy machine changes nothing.
    """

    function: Callable[..., bool]
    mutant: Mutant
    verdict: Verdict
    paths: int

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.function.__name__


LAWS: dict[str, Law] = {}
"""Every law by its name; filled when the laws are imported, which ``catalogue`` does."""


def law(*, mutant: Mutant, verdict: Verdict, paths: int) -> Callable[[Function], Function]:
    """Enters the function into ``LAWS``. The function itself stays as it is."""

    def enter(function: Function) -> Function:
        assert function.__name__ not in LAWS, f"two laws are called {function.__name__}"
        LAWS[function.__name__] = Law(function, mutant, verdict, paths)
        return function

    return enter
