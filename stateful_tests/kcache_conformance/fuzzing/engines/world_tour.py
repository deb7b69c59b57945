"""Visits the worlds, and finds out for each difference which way of being different, and which object, is enough."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ..evidence import Engine, Evidence
from ..judging.breach import Breach
from ..judging.tiers import Tier
from ..objects.codec import Tree
from ..objects.minimise import smaller_trees
from ..objects.specimen import Specimen
from ..rules import Kind, Rule
from .worlds import OTHERS, USUAL, Meaning, Visit, World, calls_in_order, visit

_MOST_CANDIDATES = 120
_ROUNDS = 5


@dataclass
class Tour:
    """Compares what a function gives in different processes.

    Args:
        spec: how a process loads the function.
        kind: of the function.
        legal: says of each of some objects whether it is legal.
        patience_seconds: how long one call may take.

    Attributes:
        visits: how many processes were started.
    """

    spec: str
    kind: Kind
    legal: Callable[[list[Tree]], list[bool]]
    patience_seconds: float
    visits: int = 0

    def run(self, specimens: list[Specimen], seconds: float) -> tuple[list[Evidence], str]:
        """The broken rules, and why not all worlds were visited, if so."""
        end = time.monotonic() + seconds
        trees = [specimen.tree for specimen in specimens if specimen.is_plain]
        if not trees:
            return [], "no object is plain data that another process can be given"
        usual = self._visit(trees, USUAL)
        if usual.failure:
            return [], f"the usual world gave no answer: {usual.failure.splitlines()[0]}"
        again = self._visit(trees, USUAL)
        found: dict[Rule, Evidence] = {}
        unstable = _differing(usual, again)
        if unstable:
            evidence = self._unstable(trees, unstable[0], usual, again)
            return [evidence], ""
        for world in OTHERS:
            other = self._visit(trees, world)
            if other.failure:
                return list(found.values()), f"with {world.difference()}: {other.failure.splitlines()[0]}"
            if _differing(usual, other):
                for evidence in self._single(trees, usual, world, end, frozenset(found)):
                    found[evidence.rule] = evidence
        return list(found.values()), ""

    def _visit(self, trees: list[Tree], world: World) -> Visit:
        self.visits += 1
        return visit(self.spec, self.kind, trees, world, patience_seconds=self.patience_seconds)

    def _unstable(self, trees: list[Tree], position: int, one: Visit, other: Visit) -> Evidence:
        """Two processes that are the same in every way gave different answers."""
        what = f"{_text(one.meanings[position])} in one process, {_text(other.meanings[position])} in another"
        specimen = Specimen(trees[position])
        breach = Breach(Rule.REPEATABLE, f"{what}, with nothing different")
        return Evidence(breach, Tier.LEGAL, Engine.WORLDS, (specimen,))

    def _single(
        self, trees: list[Tree], usual: Visit, world: World, end: float, known: frozenset[Rule]
    ) -> Iterator[Evidence]:
        for rule, single in world.single_differences():
            if rule in known:
                continue
            other = self._visit(trees, single)
            differing = _differing(usual, other)
            if not differing:
                continue
            if rule is Rule.HISTORY:
                yield self._history(trees, usual, single, differing[0], end)
            else:
                yield self._smallest(rule, single, min((trees[number] for number in differing), key=_size), end)

    def _smallest(self, rule: Rule, world: World, tree: Tree, end: float) -> Evidence:
        """The object made smaller: all that are a step smaller are tried in two processes at once."""
        first = self._visit([tree], USUAL), self._visit([tree], world)
        if not _differing(*first):
            breach = Breach(rule, f"other values with {world.difference()}, after calls for other objects")
            return Evidence(breach, Tier.LEGAL, Engine.WORLDS, (Specimen(tree),), world.difference())
        shown = first[0].meanings[0], first[1].meanings[0]
        for _ in range(_ROUNDS):
            candidates = self._smaller(tree)[:_MOST_CANDIDATES]
            if not candidates or time.monotonic() > end:
                break
            usual, other = self._visit(candidates, USUAL), self._visit(candidates, world)
            better = _differing(usual, other)
            if not better:
                break
            tree = candidates[better[0]]
            shown = usual.meanings[better[0]], other.meanings[better[0]]
        breach = Breach(rule, f"{_text(shown[0])}, but {_text(shown[1])} with {world.difference()}")
        return Evidence(breach, Tier.LEGAL, Engine.WORLDS, (Specimen(tree),), world.difference(), asdict(world))

    def _smaller(self, tree: Tree) -> list[Tree]:
        """Legal objects that are a step smaller, the smallest first."""
        candidates = list(itertools.islice(smaller_trees(tree), 2 * _MOST_CANDIDATES))
        candidates.sort(key=_size)
        verdicts = self.legal(candidates) if candidates else []
        return [candidate for candidate, is_legal in zip(candidates, verdicts, strict=False) if is_legal]

    def _history(self, trees: list[Tree], usual: Visit, world: World, position: int, end: float) -> Evidence:
        """The fewest earlier calls that change what the function gives for the object."""
        target = trees[position]
        alone = self._visit([target], USUAL).meanings[0]
        before = _calls_before(position, len(trees), world)
        sequence = [trees[number] for number in before] + [target]
        if usual.meanings[position] != alone:
            sequence = trees[: position + 1]

        def last(calls: list[Tree]) -> Meaning:
            seen = self._visit(calls, USUAL)
            return seen.meanings[-1] if seen.meanings else alone

        if last(sequence) != alone:
            sequence = _fewest(sequence, lambda calls: time.monotonic() < end and last(calls) != alone)
        changed = last(sequence)
        what = f"{_text(alone)} for the last object alone, but {_text(changed)} after the calls for those before it"
        specimens = tuple(Specimen(tree) for tree in sequence)
        return Evidence(Breach(Rule.HISTORY, what), Tier.LEGAL, Engine.WORLDS, specimens)


def _calls_before(position: int, number: int, world: World) -> list[int]:
    order = calls_in_order(number, world)
    return order[: order.index(position)]


def _fewest(sequence: list[Tree], shows: Callable[[list[Tree]], bool]) -> list[Tree]:
    """A shorter sequence with the same last element; halves first, then single calls."""
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


def _differing(one: Visit, other: Visit) -> list[int]:
    pairs = zip(one.meanings, other.meanings, strict=False)
    return [number for number, (left, right) in enumerate(pairs) if left != right]


def _size(tree: Tree) -> int:
    return Specimen(tree).size


def _text(meaning: Meaning) -> str:
    if len(meaning) == 1:
        return "no answer"
    values, error, wrong = meaning
    if error:
        return f"it raised {error}"
    return f"it returned {wrong}" if values is None else _listed(list(values))


def _listed(values: list[Any]) -> str:
    shown = repr(values[:5])
    return shown if len(values) <= 5 else f"{shown[:-1]}, ... {len(values) - 5} more]"
