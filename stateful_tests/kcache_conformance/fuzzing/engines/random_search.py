"""Random search, the first engine: Hypothesis generates objects for the code, and shrinks those that break a rule."""

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
from ..judging.identity import is_nameless
from ..judging.inline import Inline
from ..judging.outcome import Answer
from ..judging.validity import is_valid
from ..judging.violation import InputClass, Symptom, Violation
from ..objects.fuzzed_object import FuzzedObject, fuzzed_object_of
from ..objects.minimise import minimise
from ..objects.trees import NotPlainError
from ..rules import RULES, Kind, Rule, Severity
from ..schemas.schema import Field, Schema

_SHRINK_SECONDS = {InputClass.VALID: 0.7, InputClass.ADVERSARIAL: 0.1}
_MINIMISE_SECONDS = {InputClass.VALID: 0.7, InputClass.ADVERSARIAL: 0.2}
_PATIENT_SECONDS = 3.0
_LEAST_SECONDS = 0.1
_EXAMPLES_PER_ROUND = 150
_MOST_KEPT = 200
_MOST_KEPT_PER_ANSWER = 3
_MOST_PLACES = 10
"""The maximum number of raising lines that are reported separately."""
_CONSEQUENCES = {Rule.EQUAL_OBJECTS: {Rule.REPEATABLE}}
"""Rule -> rules that imply it: if one of these is broken already, the rule is not searched for."""

UNHURRIED = settings(
    database=None,
    deadline=None,
    derandomize=False,
    suppress_health_check=(
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
        HealthCheck.large_base_example,
    ),
    verbosity=Verbosity.quiet,
    report_multiple_bugs=False,
    print_blob=False,
)
"""Settings for runs of Hypothesis outside tests."""


class _Broken(AssertionError):
    """The failure that a run of Hypothesis searches for: the object breaks the current rule."""


class _TimeIsUp(BaseException):
    """Ends a run of Hypothesis at once: Hypothesis treats only subclasses of Exception as failures."""


@dataclass
class Search:
    """A random search for objects that break rules.

    Args:
        inline: judges one object.
        schema: the schema of valid objects; ``None`` if all objects of the strategies are valid.
        on_evidence: is called for each broken rule, with its smallest object.
        on_call: is called with each object before the function is.
        on_rest: is called when the function has returned.
        is_enough: returns whether to stop.
        reads: returns whether the function reads a field.
        seed: seed of everything random.
        rules: the rules to check.
        trusts_only_drawn: whether only objects that the user's strategy has generated are valid.
        until: the end of the search, by the monotonic clock; a few seconds later if there were too few objects.
        on_round: is called after each round of objects.

    Attributes:
        is_cut_short: whether the time was up before the minimum number of objects was tried.
        examples: the number of objects that were tried.
        missed: the reason why no objects could be generated; else empty.
        corpus: valid objects with different answers, for the other engines.
        valid: the number of valid objects that were judged.
        accepted: the number of valid objects for which the function did not raise.
    """

    inline: Inline
    schema: Schema
    on_evidence: Callable[[Evidence], None]
    on_call: Callable[[FuzzedObject], None] = lambda _: None
    on_rest: Callable[[], None] = lambda: None
    is_enough: Callable[[], bool] = lambda: False
    reads: Callable[[Field], bool] = lambda _: False
    seed: int = 0
    rules: frozenset[Rule] = frozenset(Rule)
    trusts_only_drawn: bool = False
    until: float = math.inf
    on_round: Callable[[], None] = lambda: None
    is_cut_short: bool = False
    examples: int = 0
    missed: str = ""
    corpus: dict[str, FuzzedObject] = field(default_factory=dict)
    valid: int = 0
    accepted: int = 0
    _drawn: set[str] = field(default_factory=set)
    _answers: dict[Any, int] = field(default_factory=dict)
    _reported: set[Symptom] = field(default_factory=set)
    _best: dict[Symptom, tuple[FuzzedObject, Violation]] = field(default_factory=dict)
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
        """Search until the time or the number of examples is used up; each symptom is reported only once.

        Args:
            objects: the strategy for objects.
            seconds: time limit, from the first object on: before that, Hypothesis collects constants from the code of
                all modules. Shrinking may take a little longer.
            examples: the maximum number of objects.
            fewest: the minimum number of objects, even if they take some more time.
            are_corrupted: whether the objects are corrupted, so that the user's strategy does not vouch for them.
        """
        remaining = examples
        self._fewest, self._seconds, self._end = self.examples + fewest, seconds, math.inf
        while remaining > 0 and self._may_go_on() and not self.is_enough():
            before = self.examples
            symptom = self._round(objects, min(remaining, _EXAMPLES_PER_ROUND), are_corrupted)
            self.on_round()
            self._begin()  # where not a single object could be made
            remaining -= max(1, min(self.examples - before, _EXAMPLES_PER_ROUND))
            if symptom is not None:
                self._report(symptom)

    def _may_go_on(self) -> bool:
        """Whether there is time left. An early finding may have used it up; then the minimum number is still tried."""
        now = time.monotonic()
        if now < self._end or (self.examples < self._fewest and now < self._last):
            return True
        self.is_cut_short = self.is_cut_short or self.examples < self._fewest
        return False

    def _begin(self) -> None:
        """Set the end of the search, unless it is set."""
        if self._end == math.inf:
            now = time.monotonic()
            self._end = min(now + self._seconds, self.until)
            self._last = max(min(now + 3 * self._seconds, self.until), now + _PATIENT_SECONDS)

    def seconds_within(self, seconds: float) -> float:
        """Return ``seconds``, or the remaining time if that is less; a minimum remains to minimise a finding."""
        return max(min(seconds, self.until - time.monotonic()), _LEAST_SECONDS)

    def judge(self, fuzzed_object: FuzzedObject) -> list[tuple[InputClass, Violation]]:
        """Judge an object; return the violations that are still searched for. Valid objects may be kept."""
        violations = self._violations(fuzzed_object)
        if not violations and len(self.corpus) >= _MOST_KEPT:
            return []
        input_class = self.input_class(fuzzed_object)
        if input_class is InputClass.VALID:
            self.valid += 1
            self.accepted += all(violation.rule is not Rule.TOTAL for violation in violations)
            self._keep(fuzzed_object)
        return [(input_class, violation) for violation in violations if self._is_wanted(violation, input_class)]

    def _violations(self, fuzzed_object: FuzzedObject) -> list[Violation]:
        self.on_call(fuzzed_object)
        try:
            return self.inline.violations(fuzzed_object)
        finally:
            self.on_rest()

    def close(self, symptom: Symptom) -> None:
        """Stop the search for a symptom that another engine has found."""
        self._reported.add(symptom)

    def answer(self, fuzzed_object: FuzzedObject) -> Answer:
        """Call the function with the object, and return its answer."""
        self.on_call(fuzzed_object)
        try:
            return self.inline.answer(fuzzed_object)
        finally:
            self.on_rest()

    def input_class(self, fuzzed_object: FuzzedObject) -> InputClass:
        """Return the class of the object: valid if a store may really hold it, else adversarial."""
        if self.trusts_only_drawn and fuzzed_object.identity not in self._drawn:
            return InputClass.ADVERSARIAL
        if self.inline.kind is Kind.KEY and is_nameless(fuzzed_object.tree):
            return InputClass.ADVERSARIAL
        with contextlib.suppress(NotPlainError):
            if is_valid(fuzzed_object.fresh(), self.schema, self.reads):
                return InputClass.VALID
        return InputClass.ADVERSARIAL

    def _is_wanted(self, violation: Violation, input_class: InputClass) -> bool:
        rule = violation.rule
        if rule not in self.rules:
            return False
        reported = {(one, where) for one, _, where in self._reported}
        if input_class is InputClass.ADVERSARIAL and RULES[rule].severity is Severity.WARNING:
            return False
        input_classes = {InputClass.VALID, input_class}
        if any((one, where) in reported for one in _CONSEQUENCES.get(rule, ()) for where in input_classes):
            return False
        if input_class is InputClass.ADVERSARIAL and (rule, InputClass.VALID) in reported:
            return False
        places = sum(one is rule and where is input_class for one, _, where in self._reported)
        return places < _MOST_PLACES and violation.symptom(input_class) not in self._reported

    def _keep(self, fuzzed_object: FuzzedObject) -> None:
        if len(self.corpus) >= _MOST_KEPT or fuzzed_object.identity in self.corpus:
            return
        meaning = self.answer(fuzzed_object).meaning
        if self._answers.get(meaning, 0) < _MOST_KEPT_PER_ANSWER or len(self._answers) < 4:
            self._answers[meaning] = self._answers.get(meaning, 0) + 1
            self.corpus[fuzzed_object.identity] = fuzzed_object

    def _round(self, objects: SearchStrategy[Any], examples: int, are_corrupted: bool) -> Symptom | None:
        """Run Hypothesis once. It searches for any symptom; after the first, only for that symptom, to shrink it."""
        target: Symptom | None = None
        until = math.inf

        @seed(self.seed + 1_000_003 * next(self._rounds))
        @settings(UNHURRIED, max_examples=examples, phases=(Phase.generate, Phase.shrink))
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
            fuzzed_object = fuzzed_object_of(obj)
            if self.trusts_only_drawn and not are_corrupted:
                self._drawn.add(fuzzed_object.identity)
            for input_class, violation in self.judge(fuzzed_object):
                key = violation.symptom(input_class)
                if target is None:
                    target, until = key, time.monotonic() + self.seconds_within(_SHRINK_SECONDS[input_class])
                if key == target:
                    self._note(key, fuzzed_object, violation)
                    raise _Broken(violation.what)

        try:
            with contextlib.suppress(_Broken, _TimeIsUp, BaseExceptionGroup):
                test()
        except Unsatisfiable:
            if self.examples == 0:
                self.missed = "no objects could be created: their class rejects all values that were tried"
        except (HypothesisException, NotPlainError) as error:
            if self.examples == 0:
                self.missed = f"no objects could be created: {error}"
        return target

    def _note(self, key: Symptom, fuzzed_object: FuzzedObject, violation: Violation) -> None:
        best = self._best.get(key)
        if best is None or _rank(fuzzed_object) < _rank(best[0]):
            self._best[key] = (fuzzed_object, violation)

    def _report(self, key: Symptom) -> None:
        *_, input_class = key
        fuzzed_object, violation = self._best[key]

        def shows(candidate: FuzzedObject) -> bool:
            nonlocal violation
            matching = [one for one in self._violations(candidate) if one.symptom(input_class) == key]
            if not matching or self.input_class(candidate) is not input_class:
                return False
            violation = matching[0]
            return True

        fuzzed_object = minimise(fuzzed_object, shows, seconds=self.seconds_within(_MINIMISE_SECONDS[input_class]))
        self._reported.add(key)
        self.on_evidence(Evidence(violation, input_class, Engine.HYPOTHESIS, (fuzzed_object,)))


def _rank(fuzzed_object: FuzzedObject) -> tuple[int, str]:
    return fuzzed_object.size, fuzzed_object.identity
