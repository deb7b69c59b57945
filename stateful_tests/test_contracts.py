"""CrossHair confirms each law, or finds nothing against it; and it does find the mutant of each law."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import pytest

from stateful_tests.material.contracts import replay
from stateful_tests.material.contracts.catalogue import LAWS
from stateful_tests.material.contracts.law import Law, Mutant
from stateful_tests.material.contracts.page import PAGE, Row, meaning, read, says, shown, title
from stateful_tests.material.contracts.questions import holds, search

DOCUMENTED = {row.name: row for row in read(PAGE.read_text(encoding="utf-8"))}

each_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)


def is_a_counterexample(law: Law, call: str) -> bool:
    """For the mutant, and not for the true code."""
    return replay.holds(law, call) and not holds(law, call, law.mutant)


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="CrossHair does not see through f-strings of Python 3.13")
@pytest.mark.skipif(find_spec("crosshair") is None, reason="crosshair-tool is not installed")
@pytest.mark.one_in(56)
@each_law
def test_law(law: Law) -> None:
    found = search(law)
    assert found.verdict == law.verdict, found.message
    refuted = search(law, law.mutant)
    assert refuted.call is not None, f"the mutant was not found: {refuted.message}"
    assert is_a_counterexample(law, refuted.call), refuted.message


@pytest.mark.one_in(4)
@each_law
def test_the_documented_counterexample_is_one(law: Law) -> None:
    assert is_a_counterexample(law, DOCUMENTED[law.name].call)


def test_the_page_lists_the_laws() -> None:
    assert sorted(DOCUMENTED) == sorted(LAWS)


@each_law
def test_the_page_says_the_same_of_the_law(law: Law) -> None:
    row: Row = DOCUMENTED[law.name]
    assert says(row, law.verdict)
    assert (row.title, row.meaning, row.mutant) == (title(law), meaning(law), shown(law.mutant))


def test_a_mutant_that_no_longer_applies_is_reported() -> None:
    mutant = Mutant("module", "a + b", "a - b")
    assert mutant.applied_to("return a + b") == "return a - b"
    for source in ("return b + a", "a + b + (a + b)"):
        with pytest.raises(AssertionError, match=r"module must hold once: a \+ b"):
            mutant.applied_to(source)
