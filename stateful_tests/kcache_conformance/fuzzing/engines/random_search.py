"""The first engine: Hypothesis makes objects, aimed at the code, and shrinks what breaks a rule."""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.errors import HypothesisException, Unsatisfiable
from hypothesis.strategies import SearchStrategy

from ..evidence import Engine, Evidence
from ..judging.breach import Breach
from ..judging.identity import is_nameless
from ..judging.inline import Inline
from ..judging.legality import is_legal
from ..judging.outcome import Answer
from ..judging.tiers import Tier
from ..objects.codec import NotPlainError
from ..objects.minimise import minimise
from ..objects.specimen import Specimen, specimen_of
from ..rules import RULES, Kind, Rule, Severity
from ..shapes.shape import Field, Shape

_SHRINK_SECONDS = {Tier.LEGAL: 0.7, Tier.HOSTILE: 0.1}
_MINIMISE_SECONDS = {Tier.LEGAL: 0.7, Tier.HOSTILE: 0.2}
_PATIENT_SECONDS = 8.0
_EXAMPLES_PER_ROUND = 150
_MOST_KEPT = 200
_MOST_KEPT_PER_ANSWER = 3
_CONSEQUENCES = {Rule.EQUAL_OBJECTS: {Rule.REPEATABLE}}
"""A rule is not searched for where one that implies it is broken already."""


_UNHURRIED = (
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
    HealthCheck.large_base_example,
)


class _Broken(AssertionError):
    """Raised inside Hypothesis for the rule that is being looked for."""


class _TimeIsUp(BaseException):
    """Ends a run of Hypothesis at once: it takes only ordinary exceptions for failures."""


@dataclass
class Search:
    """Looks for objects that break rules.

    Args:
        inline: judges one object.
        shape: what is legal; ``None`` if all that the strategies make is.
        on_evidence: told of each broken rule, with its smallest object, as soon as that is known.
        on_call: told of each object before the function sees it.
        on_rest: told when the function has been called for it.
        is_enough: whether to stop.
        reads: which fields the function reads.
        seed: of everything random.
        rules: those to look for.
        trusts_only_drawn: no object is legal but those that a strategy of the user's gave.

    Attributes:
        is_cut_short: the time was up before the fewest objects were tried.
        examples: how many objects were tried.
        missed: why no objects could be made, if so.
        kept: legal objects with different answers, for the other engines.
    """

    inline: Inline
    shape: Shape
    on_evidence: Callable[[Evidence], None]
    on_call: Callable[[Specimen], None] = lambda _: None
    on_rest: Callable[[], None] = lambda: None
    is_enough: Callable[[], bool] = lambda: False
    reads: Callable[[Field], bool] = lambda _: False
    seed: int = 0
    rules: frozenset[Rule] = frozenset(Rule)
    trusts_only_drawn: bool = False
    is_cut_short: bool = False
    examples: int = 0
    missed: str = ""
    kept: dict[str, Specimen] = field(default_factory=dict)
    _drawn: set[str] = field(default_factory=set)
    _answers: dict[Any, int] = field(default_factory=dict)
    _done: set[tuple[Rule, Tier]] = field(default_factory=set)
    _best: dict[tuple[Rule, Tier], tuple[Specimen, Breach]] = field(default_factory=dict)
    _fewest: int = 0
    _seconds: float = 0.0
    _end: float = math.inf
    _last: float = math.inf
    _rounds: Iterator[int] = field(default_factory=itertools.count)

    def run(
        self,
        objects: SearchStrategy[Any],
        seconds: float,
        *,
        examples: int,
        fewest: int = 0,
        are_corrupted: bool = False,
    ) -> None:
        """Search until the time or the number of examples is used up; a rule that was found is not looked for again.

        Args:
            objects: makes them.
            seconds: for the search, from the first object on: before that, Hypothesis collects constants from the code
                of all modules. To make what it finds smaller may take a little more.
            examples: the most objects.
            fewest: so many are tried even if that takes some time longer.
            are_corrupted: they are not what the user's strategy gives.
        """
        left = examples
        self._fewest, self._seconds, self._end = self.examples + fewest, seconds, math.inf
        while left > 0 and self._may_go_on() and not self.is_enough():
            before = self.examples
            found = self._round(objects, min(left, _EXAMPLES_PER_ROUND), are_corrupted)
            self._begin()  # where not a single object could be made
            left -= max(1, min(self.examples - before, _EXAMPLES_PER_ROUND))
            if found is not None:
                self._report(found)

    def _may_go_on(self) -> bool:
        """Whether there is time; what was found early may have used it up before the fewest objects were tried."""
        now = time.monotonic()
        if now < self._end or (self.examples < self._fewest and now < self._last):
            return True
        self.is_cut_short = self.is_cut_short or self.examples < self._fewest
        return False

    def _begin(self) -> None:
        """Start the clock, unless it runs."""
        if self._end == math.inf:
            self._end = time.monotonic() + self._seconds
            self._last = self._end + max(_PATIENT_SECONDS, 2 * self._seconds)

    def judge(self, specimen: Specimen) -> list[tuple[Tier, Breach]]:
        """The broken rules that are still looked for. Passes the object on to those who keep some."""
        breaches = self._breaches(specimen)
        if not breaches and len(self.kept) >= _MOST_KEPT:
            return []
        tier = self.tier(specimen)
        if tier is Tier.LEGAL:
            self._keep(specimen)
        return [(tier, breach) for breach in breaches if self._is_wanted(breach.rule, tier)]

    def _breaches(self, specimen: Specimen) -> list[Breach]:
        self.on_call(specimen)
        try:
            return self.inline.breaches(specimen)
        finally:
            self.on_rest()

    def close(self, rule: Rule, tier: Tier) -> None:
        """Look no longer for a rule that somebody else found broken."""
        self._done.add((rule, tier))

    def answer(self, specimen: Specimen) -> Answer:
        """What the function gives for the object."""
        self.on_call(specimen)
        try:
            return self.inline.answer(specimen)
        finally:
            self.on_rest()

    def tier(self, specimen: Specimen) -> Tier:
        """Whether a store may really hold the object."""
        if self.trusts_only_drawn and specimen.identity not in self._drawn:
            return Tier.HOSTILE
        if self.inline.kind is Kind.KEY and is_nameless(specimen.tree):
            return Tier.HOSTILE
        try:
            return Tier.LEGAL if is_legal(specimen.fresh(), self.shape, self.reads) else Tier.HOSTILE
        except NotPlainError:
            return Tier.HOSTILE

    def _is_wanted(self, rule: Rule, tier: Tier) -> bool:
        if rule not in self.rules:
            return False
        if tier is Tier.HOSTILE and RULES[rule].severity is Severity.WARNING:
            return False
        implied = {rule, *_CONSEQUENCES.get(rule, set())}
        tiers = {Tier.LEGAL, tier}
        return not any((one, where) in self._done for one in implied for where in tiers)

    def _keep(self, specimen: Specimen) -> None:
        if len(self.kept) >= _MOST_KEPT or not specimen.is_plain or specimen.identity in self.kept:
            return
        meaning = self.answer(specimen).meaning
        if self._answers.get(meaning, 0) < _MOST_KEPT_PER_ANSWER or len(self._answers) < 4:
            self._answers[meaning] = self._answers.get(meaning, 0) + 1
            self.kept[specimen.identity] = specimen

    def _round(self, objects: SearchStrategy[Any], examples: int, are_corrupted: bool) -> tuple[Rule, Tier] | None:
        """One run of Hypothesis. It looks for any rule first; from then on only for the one that it found."""
        target: tuple[Rule, Tier] | None = None
        until = math.inf

        @seed(self.seed + 1_000_003 * next(self._rounds))
        @settings(
            max_examples=examples,
            database=None,
            deadline=None,
            derandomize=False,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=_UNHURRIED,
            verbosity=Verbosity.quiet,
            report_multiple_bugs=False,
            print_blob=False,
        )
        @given(objects)
        def test(obj: Any) -> None:
            nonlocal target, until
            self._begin()
            now = time.monotonic()
            if now > min(until, self._end) and (
                target is not None or self.examples >= self._fewest or now > self._last
            ):
                raise _TimeIsUp
            self.examples += 1
            specimen = specimen_of(obj)
            if self.trusts_only_drawn and not are_corrupted:
                self._drawn.add(specimen.identity)
            for tier, breach in self.judge(specimen):
                key = (breach.rule, tier)
                if target is None:
                    target, until = key, time.monotonic() + _SHRINK_SECONDS[tier]
                if key == target:
                    self._note(key, specimen, breach)
                    raise _Broken(breach.what)

        try:
            with contextlib.suppress(_Broken, _TimeIsUp, BaseExceptionGroup):
                test()
        except Unsatisfiable:
            if self.examples == 0:
                self.missed = "no objects could be made: their class refuses all that were tried"
        except (HypothesisException, NotPlainError) as error:
            if self.examples == 0:
                self.missed = f"no objects could be made: {error}"
        return target

    def _note(self, key: tuple[Rule, Tier], specimen: Specimen, breach: Breach) -> None:
        best = self._best.get(key)
        if best is None or _rank(specimen) < _rank(best[0]):
            self._best[key] = (specimen, breach)

    def _report(self, key: tuple[Rule, Tier]) -> None:
        rule, tier = key
        specimen, breach = self._best[key]

        def shows(candidate: Specimen) -> bool:
            nonlocal breach
            found = [one for one in self._breaches(candidate) if one.rule is rule]
            if not found or self.tier(candidate) is not tier:
                return False
            breach = found[0]
            return True

        specimen = minimise(specimen, shows, seconds=_MINIMISE_SECONDS[tier])
        self._done.add(key)
        self.on_evidence(Evidence(breach, tier, Engine.HYPOTHESIS, (specimen,)))


def _rank(specimen: Specimen) -> tuple[int, str]:
    return specimen.size, specimen.identity
