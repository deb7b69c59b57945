"""The work of one process: every engine that needs no other process."""

from __future__ import annotations

import contextlib
import json
import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

from kcache_model.progress import ProgressListener

from .engines.comparisons import follow_comparisons
from .engines.interleavings import explore_calls
from .engines.programs import run_programs
from .engines.random_search import Search
from .engines.threads import run_threads
from .evenly_spaced import evenly_spaced
from .evidence import Engine, EngineReport, Evidence, encode_evidence
from .judging.identity import with_namespace
from .judging.inline import Inline
from .judging.violation import InputClass, Symptom, Violation
from .objects.corruption import corrupted
from .objects.fuzzed_object import FuzzedObject
from .objects.minimise import minimise
from .objects.recombination import recombined
from .objects.strategies import ObjectMaker
from .objects.trees import NotPlainError, Tree
from .options import FuzzOptions
from .rules import RULES, Kind, Rule, Severity
from .schemas.combining import notes_in
from .schemas.schema import (
    Array,
    Boolean,
    Bytes,
    Either,
    Given,
    Integer,
    Map,
    Number,
    Record,
    Schema,
    Standard,
    resolved,
)
from .static_analysis import read
from .subject import Subject

_EXAMPLES, _WHOLE_EXAMPLES, _ADVERSARIAL_EXAMPLES = 2400, 600, 300
_SEARCH, _WHOLE, _ADVERSARIAL = 0.32, 0.08, 0.06
_FEWEST, _FEWEST_ADVERSARIAL = 100, 30
_COMPARISONS = 0.08
_FIRST_SHARE, _DEEP_SHARE = 0.4, 0.6
_PROGRAMS, _THREADS, _INTERLEAVINGS = 0.02, 0.03, 0.1
_STATEFUL = frozenset({Rule.REPEATABLE, Rule.HISTORY, Rule.PURE, Rule.EQUAL_OBJECTS})
_IDENTITY = frozenset({"metadata", "name", "namespace"})
"""Fields of objects for a key function, even if it does not read them: an object without a name is adversarial."""
_SMALLEST_RUN = 8
_MOST_FOLLOWED = 40
_MOST_RECOMBINED = 60
_CLUSTER_SCOPED = "objects of cluster-scoped kinds (Node, PersistentVolume) have no namespace"
_NAMES: dict[type, str] = {
    Array: "listing",
    Map: "table",
    Integer: "whole",
    Number: "fraction",
    Boolean: "flag",
    Bytes: "blob",
}
"""Schema of objects without fields -> their name in JSON reports."""


class Sink(Protocol):
    """The receiver of a job's events: a pipe, or an object in the same process."""

    watch: ProgressListener

    def send(self, event: dict[str, Any]) -> None:
        """Send one event, as plain JSON."""


class Work:
    """The engines that need no other process, and their findings so far.

    Args:
        subject: the fuzzed function.
        options: options of the run.
        sink: receives the findings, and the reports of the engines.
        is_deep: search longer than the first time, and with another seed.
        known: symptoms that need not be searched for.
        seconds_left: time limit for everything.

    Attributes:
        schema: the schema of the objects.
        search: the random search; it judges and keeps the objects of other engines, too.
        broken_rules: the rules that valid objects break.
    """

    def __init__(
        self,
        subject: Subject,
        options: FuzzOptions,
        sink: Sink,
        *,
        is_deep: bool = False,
        known: frozenset[Symptom] = frozenset(),
        seconds_left: float = math.inf,
    ) -> None:
        until = time.monotonic() + seconds_left
        self._subject, self._options, self._sink = subject, options, sink
        self._reading = read(subject.function)
        named = self._reading.names | (_IDENTITY if subject.kind is Kind.KEY else frozenset())
        self._made_of = replace(self._reading, names=named)
        # Rules with a known raising line are still checked: other lines may raise as well.
        self._rules = options.rules(subject.kind) - {rule for rule, place, _ in known if not place}
        self._share = _DEEP_SHARE if is_deep else _FIRST_SHARE
        sink.watch.note("")
        self.schema: Schema = options.sources.schema(subject, self._reading)
        sink.watch.rest()
        self.broken_rules: set[Rule] = set()
        self._symptoms = {*known}
        self._function = _stepping(subject.function, sink.watch)
        self.search = Search(
            Inline(self._function, subject.kind, options.most_values),
            self.schema,
            self._evidence,
            on_call=self._call,
            on_rest=sink.watch.rest,
            is_enough=self.is_enough,
            reads=lambda field: self._reading.reads(field.name, *field.aliases),
            seed=2 * options.seed + is_deep,
            rules=self._rules,
            trusts_only_drawn=isinstance(self.schema, Given),
            until=until,
            on_round=self._tell_tried,
        )
        for symptom in known:
            self.search.close(symptom)

    def tell_objects(self) -> None:
        """Send the name and the notes of the objects' schema."""
        are_guessed = self._options.sources.are_guessed(self._subject)
        name, notes = _name_of(self.schema), list(notes_in(self.schema))
        self._sink.send({"event": "objects", "name": name, "are_guessed": are_guessed, "notes": notes})

    def is_enough(self) -> bool:
        """Whether to stop: the run ends at the first violation, and there is one."""
        failing = {rule for rule in self.broken_rules if RULES[rule].severity is Severity.ERROR}
        return self._options.is_first_enough and bool(failing)

    def random_objects(self) -> None:
        """Run Hypothesis: objects with only the fields that the code reads, whole objects, and corrupted objects."""
        began = self._start(Engine.HYPOTHESIS)
        objects = ObjectMaker(self._made_of).strategy(self.schema)
        whole = ObjectMaker(self._made_of, is_whole=True).strategy(self.schema)
        adversarial = corrupted(objects)
        with _quiet():
            for strategy, seconds, number, fewest, are_corrupted in (
                (objects, _SEARCH, _EXAMPLES, _FEWEST, False),
                (whole, _WHOLE, _WHOLE_EXAMPLES, 0, False),
                (adversarial, _ADVERSARIAL, _ADVERSARIAL_EXAMPLES, _FEWEST_ADVERSARIAL, True),
            ):
                self.search.run(
                    strategy,
                    self._share * seconds * self._options.budget_seconds,
                    examples=max(fewest, round(self._share * number)),
                    fewest=fewest,
                    are_corrupted=are_corrupted,
                )
        self._sink.watch.rest()
        self._sink.send({"event": "tried", "objects": self.search.examples, "cut": self.search.is_cut_short})
        self._report(Engine.HYPOTHESIS, f"{self.search.examples:,} objects", self.search.missed, began)

    def comparisons(self) -> None:
        """Run the comparison engine: objects with the values of the code's comparisons."""
        began = self._start(Engine.COMPARISONS)
        number = follow_comparisons(
            self._subject.function,
            self._followed(_MOST_FOLLOWED),
            lambda fuzzed_object: self.hint(fuzzed_object, Engine.COMPARISONS),
            seconds=self.search.seconds_within(self._share * _COMPARISONS * self._options.budget_seconds),
            on_call=self._call,
            on_rest=self._sink.watch.rest,
        )
        self._report(Engine.COMPARISONS, f"{number:,} objects", "", began)

    def programs(self) -> None:
        """Run the programs engine: an index in a cache that works as in client-go."""
        if Rule.CONSISTENT not in self._rules or self._subject.kind is Kind.KEY:
            return
        began = self._start(Engine.PROGRAMS)
        fuzzed_objects = self._followed(40)
        evidence, number = run_programs(
            self._function,
            fuzzed_objects,
            seconds=self.search.seconds_within(_PROGRAMS * self._options.budget_seconds),
            seed=self._options.seed,
            on_call=self._call,
        )
        self._sink.watch.rest()
        if evidence is not None:
            self._evidence(evidence)
        self._report(Engine.PROGRAMS, f"{number:,} programs", self._idle(), began)

    def threads(self) -> None:
        """Run the thread engine: calls in several real threads."""
        if Rule.THREAD_SAFE not in self._rules:
            return
        began, fuzzed_objects = self._start(Engine.THREADS), self._followed(_SMALLEST_RUN)
        why = "it returns different results even in one thread" if self.broken_rules & _STATEFUL else self._idle()
        if why:
            self._report(Engine.THREADS, "0 calls", why)
            return
        seconds = self.search.seconds_within(_THREADS * self._options.budget_seconds)
        evidence, calls = run_threads(self._function, self._subject.kind, fuzzed_objects, seconds=seconds)
        self._sink.watch.rest()
        if evidence is not None:
            self._evidence(evidence)
        self._report(Engine.THREADS, f"{calls:,} calls by 4 threads", "", began)

    def interleavings(self) -> None:
        """Run the explorer: calls in two virtual threads."""
        if Rule.THREAD_SAFE not in self._rules or self.broken_rules & _STATEFUL:
            return
        began = self._start(Engine.EXPLORER)
        seconds = self.search.seconds_within(_INTERLEAVINGS * self._options.budget_seconds)
        with _quiet():
            result = explore_calls(self._subject, self._followed(40), seconds=seconds)
        if result.evidence is not None:
            self._symptoms.discard(result.evidence.symptom)  # report it again: evidence of real threads has no replay
            self._evidence(result.evidence)
        missed = self._idle() or result.reason
        if not missed and not result.is_complete and result.evidence is None:
            missed = "the time was up before all interleavings were run"
        self._report(Engine.EXPLORER, f"{result.executions:,} interleavings of two threads", missed, began)

    def hint(self, fuzzed_object: FuzzedObject, engine: Engine) -> None:
        """Judge an object of another engine; report the rules that it breaks, with a smaller object."""
        for input_class, violation in self.search.judge(fuzzed_object):
            shows = _Shows(self.search, violation, input_class)
            smaller = minimise(fuzzed_object, shows, seconds=self.search.seconds_within(1.0))
            self.search.close(shows.violation.symptom(shows.input_class))
            self._evidence(Evidence(shows.violation, shows.input_class, engine, (smaller,)))
        self._sink.watch.rest()

    def summary(self) -> None:
        """Send the number of valid objects, and the number of them that the function accepted."""
        self._sink.send({"event": "judged", "valid": self.search.valid, "accepted": self.search.accepted})

    def _idle(self) -> str:
        """Return the reason why calls cannot show anything; empty if the function accepted an object."""
        if not self.search.corpus:
            return "there are no objects"
        return "" if self.search.accepted else "it raised for every object"

    def objects_for_perturbations(self) -> list[Any]:
        """Return the objects for other processes: kept objects, and objects that look like later states of them."""
        plain = [fuzzed_object.tree for fuzzed_object in self.search.corpus.values() if fuzzed_object.is_plain]
        return plain + [later.tree for later in self._later(plain, _MOST_RECOMBINED)]

    def _followed(self, most: int) -> list[FuzzedObject]:
        """Return kept objects (first small ones with different answers), and objects like later states of them."""
        ranked = sorted(self.search.corpus.values(), key=lambda fuzzed_object: fuzzed_object.size)
        first: dict[object, FuzzedObject] = {}
        for fuzzed_object in ranked:
            answer = self.search.answer(fuzzed_object)
            if answer.values:
                first.setdefault(answer.meaning, fuzzed_object)
        different = evenly_spaced([*first.values()], most)
        chosen = [*different, *(fuzzed_object for fuzzed_object in ranked if fuzzed_object not in first.values())][
            :most
        ]
        trees = [fuzzed_object.tree for fuzzed_object in chosen if fuzzed_object.is_plain]
        return chosen + self._later(trees, most // 2)

    def _later(self, trees: list[Tree], most: int) -> list[FuzzedObject]:
        """Return valid objects that look like later states of the trees."""
        mixed = map(FuzzedObject, recombined(trees, most, self._options.seed))
        return [one for one in mixed if self.search.input_class(one) is InputClass.VALID]

    def _call(self, fuzzed_object: FuzzedObject) -> None:
        self._sink.watch.note(json.dumps(fuzzed_object.tree) if fuzzed_object.is_plain else "null")

    def _evidence(self, evidence: Evidence) -> None:
        is_valid = evidence.input_class is InputClass.VALID
        is_known = evidence.symptom in self._symptoms if is_valid else evidence.rule in self.broken_rules
        if evidence.rule in self._rules and not is_known:
            if is_valid:
                self.broken_rules.add(evidence.rule)
                self._symptoms.add(evidence.symptom)
            if evidence.rule is Rule.TOTAL and self._needs_namespace(evidence.fuzzed_objects[-1]):
                what = (
                    f"{evidence.violation.what}; it accepts the object with a metadata.namespace, but {_CLUSTER_SCOPED}"
                )
                evidence = replace(evidence, violation=replace(evidence.violation, what=what))
            self._sink.send({"event": "evidence", "evidence": encode_evidence(evidence)})

    def _needs_namespace(self, fuzzed_object: FuzzedObject) -> bool:
        """Whether the function accepts the object as soon as it has a namespace."""
        if not fuzzed_object.is_plain:
            return False
        tree = with_namespace(fuzzed_object.tree)
        try:
            return tree is not None and not self.search.answer(FuzzedObject(tree)).error
        except NotPlainError:
            return False

    def _start(self, engine: Engine) -> float:
        """Send that an engine begins; return the time, by the monotonic clock."""
        self._sink.send({"event": "progress", "engine": engine.value, "did": ""})
        return time.monotonic()

    def _tell_tried(self) -> None:
        did = f"{self.search.examples:,} objects"
        self._sink.send({"event": "progress", "engine": Engine.HYPOTHESIS.value, "did": did})

    def _report(self, engine: Engine, did: str, missed: str, began: float | None = None) -> None:
        seconds = 0.0 if began is None else time.monotonic() - began
        report = EngineReport(engine, did, missed, seconds)
        self._sink.send({"event": "engine", **vars(report), "engine": engine.value})


def _stepping(function: Callable[[Any], Any], watch: ProgressListener) -> Callable[[Any], Any]:
    """Wrap the function so that each call resets the watch's patience: it applies to one call, not to many."""

    def stepping(obj: Any) -> Any:
        watch.alive()
        return function(obj)

    return stepping


def _name_of(schema: Schema) -> str:
    schema = resolved(schema)
    if isinstance(schema, Either):
        return " or ".join(dict.fromkeys(map(_name_of, schema.options)))
    if isinstance(schema, Standard):
        return schema.kind.__name__
    return schema.name if isinstance(schema, Record) else _NAMES.get(type(schema), type(schema).__name__.lower())


@dataclass
class _Shows:
    """A check whether a smaller object breaks the same rule; a valid object is preferred to an adversarial one."""

    search: Search
    violation: Violation
    input_class: InputClass

    def __call__(self, candidate: FuzzedObject) -> bool:
        for input_class, violation in self.search.judge(candidate):
            is_same = (violation.rule, violation.place) == (self.violation.rule, self.violation.place)
            if is_same and input_class in (self.input_class, InputClass.VALID):
                self.violation, self.input_class = violation, input_class
                return True
        return False


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppress warnings while the context is entered: Hypothesis warns of strategies that are intended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
