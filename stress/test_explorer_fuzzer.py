"""The fuzzer of the explorer: a share of its programs, and that it finds what is wrong."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kcache_stress.engine.granularity import Granularity
from kcache_stress.engine.preemption_bounded import PreemptionBounded
from kcache_stress.engine.strategy import Coverage
from stress.material.explorer_fuzzer import comparing
from stress.material.explorer_fuzzer.causes import CAUSES, example
from stress.material.explorer_fuzzer.comparing import THOROUGH, Verdict, compare
from stress.material.explorer_fuzzer.generator import PARTS, Design, Step, Work, design
from stress.material.explorer_fuzzer.objects import ATTRIBUTE
from stress.material.explorer_fuzzer.shrinking import contains, signature, smallest
from stress.material.explorer_fuzzer.tallying import WRONG, Tally, described


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    collects = gc.isenabled()
    gc.disable()
    yield tmp_path
    if collects:
        gc.enable()
    for name in set(sys.modules) - before:
        del sys.modules[name]


CLEAN = (
    *("dict", "dict subclass", "list", "module global", "event and queue", "other containers", "published", "nested"),
    *("attribute", "calls back", "class attribute", "closure", "foreign base", "foreign object"),
)
"""Parts of the vocabulary that the explorer knows all about."""
MOST_GAPS = 0.05
"""Greatest share of the programs that may lack a proof only because of the observer."""
NIGHTLY = (
    *CLEAN,
    *("attribute methods", "modules", "partial", "iterator sources", "collections", "namespaces", "dispatch"),
)
"""Parts whose programs are compared by night."""

SHARE = [
    number
    for number in range(len(PARTS) + len(PARTS) // 2)
    if (names := {part.name for part in design(number).parts}) <= {*CLEAN}
    and (number < len(PARTS) or "event and queue" not in names)
]
"""Modules of 55 programs each, but for those that take ten times as long as others."""


def wrong(tally: Tally) -> list[str]:
    return [described(found) for found in tally.found if found.comparison.verdict in WRONG]


@pytest.mark.one_in(9, start=1)
@pytest.mark.parametrize("number", SHARE)
def test_no_difference(number: int, folder: Path) -> None:
    tally = Tally(most_kinds=1)
    tally.run(number, folder)
    assert wrong(tally) == []
    assert tally.programs == 55
    gaps = sum(counts[Verdict.GAP] for counts in tally.verdicts.values())
    assert gaps <= MOST_GAPS * 2 * tally.programs


@pytest.mark.nightly
@pytest.mark.parametrize("share", range(60))
def test_no_difference_among_many(share: int, folder: Path) -> None:
    """Hours: 5,500 programs in each."""
    tally = Tally()
    for number in range(1_000 + 100 * share, 1_100 + 100 * share):
        if PARTS[number % len(PARTS)].name in NIGHTLY:
            tally.run(number, folder)
    assert wrong(tally) == []


@pytest.mark.one_in(10)
@pytest.mark.parametrize("cause", CAUSES)
def test_what_once_was_called_exhausted(cause: str, folder: Path) -> None:
    compared = list(compare(example(cause), folder, "cause", pairs=[(0, 1)], effort=THOROUGH))
    assert {found.verdict for found in compared} <= {Verdict.SAME, Verdict.NO_PROOF, Verdict.TOO_LONG}
    assert any(found.verdict is not Verdict.TOO_LONG for found in compared)


def of(*threads: tuple[str, ...]) -> Design:
    works = tuple(Work(tuple(Step(ATTRIBUTE.name, text, text) for text in texts)) for texts in threads)
    return Design((ATTRIBUTE,), "dict", works)


READS, WRITES = ("seen.append(s.a)", "seen.append(s.a)"), ("s.a = 1", "s.a = 2")


class Lazy(PreemptionBounded):
    """Says that it has seen everything."""

    def __init__(self) -> None:
        super().__init__(most=0)

    def has_more(self) -> bool:
        self.coverage = Coverage.EXHAUSTED
        return False


def test_an_explorer_that_leaves_something_out_is_found_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "Dpor", Lazy)
    compared = list(compare(of(READS, WRITES), folder, "left_out", pairs=[(0, 1)]))
    assert [found.verdict for found in compared] == [Verdict.MISSING, Verdict.MISSING]
    assert len(compared[0].explored) == 1
    assert ("complete", "[0, 2]", "[]", "[(2,)]") in compared[0].outcomes


def test_an_explorer_that_sees_what_cannot_be_is_found_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a global lock nothing comes between the two reads."""
    monkeypatch.setitem(comparing._OPCODES, Granularity.FREE, Granularity.OPCODES_GIL)
    compared = list(
        compare(
            of(READS, WRITES), folder, "too_many", pairs=[(0, 1)], granularities=[Granularity.FREE], effort=THOROUGH
        )
    )
    assert [found.verdict for found in compared] == [Verdict.EXTRA]
    assert ("complete", "[0, 1]", "[]", "[(2,)]") in compared[0].outcomes


def test_what_is_right_is_the_same(folder: Path) -> None:
    compared = list(compare(of(READS, WRITES), folder, "right", effort=THOROUGH))
    assert {found.verdict for found in compared} == {Verdict.SAME}
    assert len(compared) == 6


def test_private_work_before_and_after_changes_nothing(folder: Path) -> None:
    wide = replace(of(READS, WRITES), is_wide=True)
    assert wide.source().count("private_work(") == 1 + 2 * len(wide.works)
    compared = list(compare(wide, folder, "wide", pairs=[(0, 1)], effort=THOROUGH))
    assert [found.verdict for found in compared] == [Verdict.SAME, Verdict.SAME]


def test_what_only_the_observer_sees_is_a_gap(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "gap_in_reports", lambda _: "a read without a report")
    compared = list(compare(of(READS, WRITES), folder, "gap", pairs=[(0, 1)]))
    assert [(found.verdict, found.note) for found in compared] == [(Verdict.GAP, "a read without a report")] * 2
    monkeypatch.setattr(comparing, "Dpor", Lazy)
    compared = list(compare(of(READS, WRITES), folder, "rightly", pairs=[(0, 1)]))
    assert [(found.verdict, found.note) for found in compared] == [(Verdict.NO_PROOF, "a read without a report")] * 2


def test_differences_are_made_small() -> None:
    def is_wrong(candidate: Design) -> bool:
        one, two = candidate.works
        return any("s.a = 2" in step.text for step in one.steps) and bool(two.steps)

    big = design(3)
    big = Design(big.parts, big.kind, (*big.works, *of(WRITES, READS).works))
    small = smallest(big, (10, 11), is_wrong)
    assert [[step.text for step in work.steps] for work in small.works] == [["s.a = 2"], ["seen.append(s.a)"]]
    assert contains(signature(big, (11, 10)), signature(small))
    assert not contains(signature(small), signature(big, (10, 11)))


def test_modules_are_the_same_each_time() -> None:
    assert [design(seed).source() for seed in range(40)] == [design(seed).source() for seed in range(40)]
    for seed in range(200):
        compile(design(seed).source(), f"module {seed}", "exec")
