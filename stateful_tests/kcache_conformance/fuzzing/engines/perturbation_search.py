"""Search for the single perturbation, and the smallest object, that change the result of a function."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..evidence import Engine, Evidence
from ..judging.violation import InputClass, Violation
from ..objects.fuzzed_object import FuzzedObject
from ..objects.minimise import smaller_trees
from ..objects.trees import Tree
from ..rules import Kind, Rule
from .perturbations import (
    PERTURBATIONS,
    UNPERTURBED,
    Meaning,
    Perturbation,
    PerturbedRun,
    calls_in_order,
    run_perturbed,
)

_MOST_CANDIDATES = 120
_ROUNDS = 5


@dataclass
class PerturbationSearch:
    """Comparison of a function's results in different processes.

    Args:
        spec: the name by which a process loads the function.
        kind: the kind of the function.
        valid: objects -> whether each object is valid.
        patience_seconds: time limit of one call.
        until: the time, by the monotonic clock, after which no process is started; the first perturbation is always
            tried.
        on_run: is called for each process.

    Attributes:
        runs: the number of processes that were started.
        is_cut_short: whether there was no time for all perturbations.
    """

    spec: str
    kind: Kind
    valid: Callable[[list[Tree]], list[bool]]
    patience_seconds: float
    until: float = math.inf
    on_run: Callable[[int], None] = lambda _: None
    runs: int = 0
    is_cut_short: bool = False

    def run(self, fuzzed_objects: list[FuzzedObject], seconds: float) -> tuple[list[Evidence], str]:
        """Return the evidence of broken rules, and the reason if not all perturbations were tried, else ``""``."""
        end = min(time.monotonic() + seconds, self.until)
        trees = [fuzzed_object.tree for fuzzed_object in fuzzed_objects if fuzzed_object.is_plain]
        if not trees:
            return [], "no object is plain data, so none can be sent to another process"
        usual = self._run_perturbed(trees, UNPERTURBED)
        if usual.failure:
            return [], f"a process without changes failed: {usual.failure.splitlines()[0]}"
        again = self._run_perturbed(trees, UNPERTURBED)
        by_rule: dict[Rule, Evidence] = {}
        unstable = _differing(usual, again)
        if unstable:
            return [self._unstable(trees, unstable[0], usual, again)], ""
        for number, perturbation in enumerate(PERTURBATIONS):
            if number and time.monotonic() > self.until:
                self.is_cut_short = True
                break
            other = self._run_perturbed(trees, perturbation)
            if other.failure:
                return list(by_rule.values()), f"with {perturbation.difference()}: {other.failure.splitlines()[0]}"
            if _differing(usual, other):
                for evidence in self._single(trees, usual, perturbation, end, frozenset(by_rule)):
                    by_rule[evidence.rule] = evidence
        return list(by_rule.values()), ""

    def _run_perturbed(self, trees: list[Tree], perturbation: Perturbation) -> PerturbedRun:
        self.runs += 1
        self.on_run(self.runs)
        return run_perturbed(self.spec, self.kind, trees, perturbation, patience_seconds=self.patience_seconds)

    def _unstable(self, trees: list[Tree], position: int, one: PerturbedRun, other: PerturbedRun) -> Evidence:
        """Return evidence of different answers in two processes without any perturbation."""
        what = f"{_text(one.meanings[position])} in one process, but {_text(other.meanings[position])} in another"
        return _evidence(Rule.REPEATABLE, f"{what}, although both were started alike", [trees[position]])

    def _single(
        self, trees: list[Tree], usual: PerturbedRun, perturbation: Perturbation, end: float, known: frozenset[Rule]
    ) -> Iterator[Evidence]:
        for rule, single in perturbation.single_differences():
            if rule in known:
                continue
            other = self._run_perturbed(trees, single)
            differing = _differing(usual, other)
            if not differing:
                continue
            if rule is Rule.HISTORY:
                yield self._history(trees, usual, single, differing[0], end)
            else:
                yield self._smallest(rule, single, min((trees[number] for number in differing), key=_size), end)

    def _smallest(self, rule: Rule, perturbation: Perturbation, tree: Tree, end: float) -> Evidence:
        """Minimise the object: in each round, two processes try all candidates that are one step smaller."""
        first = self._run_perturbed([tree], UNPERTURBED), self._run_perturbed([tree], perturbation)
        if not _differing(*first):
            what = f"it returns other values with {perturbation.difference()}, after calls for other objects"
            return _evidence(rule, what, [tree], perturbation.difference())
        meanings = first[0].meanings[0], first[1].meanings[0]
        for _ in range(_ROUNDS):
            candidates = self._smaller(tree)[:_MOST_CANDIDATES]
            if not candidates or time.monotonic() > end:
                break
            usual, other = self._run_perturbed(candidates, UNPERTURBED), self._run_perturbed(candidates, perturbation)
            better = _differing(usual, other)
            if not better:
                break
            tree = candidates[better[0]]
            meanings = usual.meanings[better[0]], other.meanings[better[0]]
        what = f"{_text(meanings[0])}, but {_text(meanings[1])} with {perturbation.difference()}"
        return _evidence(rule, what, [tree], perturbation.difference(), asdict(perturbation))

    def _smaller(self, tree: Tree) -> list[Tree]:
        """Return the valid objects that are one step smaller, the smallest first."""
        candidates = list(itertools.islice(smaller_trees(tree), 2 * _MOST_CANDIDATES))
        candidates.sort(key=_size)
        verdicts = self.valid(candidates) if candidates else []
        return [candidate for candidate, is_valid in zip(candidates, verdicts, strict=False) if is_valid]

    def _history(
        self, trees: list[Tree], usual: PerturbedRun, perturbation: Perturbation, position: int, end: float
    ) -> Evidence:
        """Return evidence with the fewest earlier calls that change the function's result for the object."""
        target = trees[position]
        alone = self._run_perturbed([target], UNPERTURBED).meanings[0]
        order = calls_in_order(len(trees), perturbation)
        sequence = [trees[number] for number in order[: order.index(position) + 1]]
        if usual.meanings[position] != alone:
            sequence = trees[: position + 1]

        def last(calls: list[Tree]) -> Meaning:
            result = self._run_perturbed(calls, UNPERTURBED)
            return result.meanings[-1] if result.meanings else alone

        if last(sequence) != alone:
            sequence = _fewest(sequence, lambda calls: time.monotonic() < end and last(calls) != alone)
        changed = last(sequence)
        what = f"{_text(alone)} for the last object alone, but {_text(changed)} after calls for the objects before it"
        return _evidence(Rule.HISTORY, what, sequence)


def _evidence(
    rule: Rule, what: str, trees: list[Tree], setting: str = "", details: Mapping[str, Any] | None = None
) -> Evidence:
    fuzzed_objects = tuple(map(FuzzedObject, trees))
    return Evidence(
        Violation(rule, what), InputClass.VALID, Engine.PERTURBATIONS, fuzzed_objects, setting, details or {}
    )


def _fewest(sequence: list[Tree], shows: Callable[[list[Tree]], bool]) -> list[Tree]:
    """Shorten a sequence, but keep its last element: first remove halves, then smaller parts, then single calls."""
    *before, last = sequence
    size = max(1, len(before) // 2)
    while before and size:
        start = 0
        while start < len(before):
            shorter = before[:start] + before[start + size :]
            if shows([*shorter, last]):
                before = shorter
            else:
                start += size
        size //= 2
    return [*before, last]


def _differing(one: PerturbedRun, other: PerturbedRun) -> list[int]:
    pairs = zip(one.meanings, other.meanings, strict=False)
    return [number for number, (one_meaning, other_meaning) in enumerate(pairs) if one_meaning != other_meaning]


def _size(tree: Tree) -> int:
    return FuzzedObject(tree).size


def _text(meaning: Meaning) -> str:
    if len(meaning) == 1:
        return "no answer"
    values, error, wrong = meaning
    if error:
        return f"it raised {error}"
    return f"it returned {wrong}" if values is None else _listed(list(values))


def _listed(values: list[Any]) -> str:
    text = repr(values[:5])
    return text if len(values) <= 5 else f"{text[:-1]}, ... {len(values) - 5} more]"
