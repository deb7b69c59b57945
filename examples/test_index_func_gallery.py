"""Every faulty example index function is caught, and no correct one is accused."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from kcache_conformance.fuzzing.judging.inline import Inline
from kcache_conformance.fuzzing.objects.fuzzed_object import fuzzed_object_of
from kcache_conformance.fuzzing.options import FuzzOptions
from kcache_conformance.fuzzing.rules import Kind, Rule
from kcache_conformance.fuzzing.session import fuzz
from kcache_conformance.fuzzing.subject import load_subject
from kcache_conformance.targets.gallery import function_gallery
from kcache_model.verdict import Status
from kcache_stress.loading import load_object

EXAMPLES = function_gallery()
FAULTY = [example for example in EXAMPLES if not example.is_correct]
CORRECT = [example for example in EXAMPLES if example.is_correct]
INLINE = {"total", "returns-list", "pure", "own-result"}
ATTEMPTS = ((8.0, 0), (20.0, 1), (20.0, 2))
"""Budgets and seeds: the first is enough for nearly all; how much fits into the others is up to a busy machine."""


@pytest.mark.one_in(13)
@pytest.mark.parametrize("example", FAULTY, ids=lambda example: example.name)
def test_faulty_functions_are_caught(example):
    found = set()
    for seconds, seed in ATTEMPTS:
        options = FuzzOptions(budget_seconds=seconds, seed=seed, is_first_enough=True)
        report = fuzz(f"{example.path}:index_func", Kind.INDEX, options)
        found |= {finding.rule.value for finding in report.errors}
        if found & set(example.rules):
            break
    assert found & set(example.rules), report


@pytest.mark.one_in(20)
@pytest.mark.parametrize("example", CORRECT, ids=lambda example: example.name)
def test_correct_functions_are_not_accused(example):
    for seconds in (2.0, 60.0):  # the second one where a machine is too busy for the first
        report = fuzz(f"{example.path}:index_func", Kind.INDEX, FuzzOptions(budget_seconds=seconds))
        if report.status is not Status.UNKNOWN:
            break
    assert report.status is Status.OK, report
    assert all(finding.tier.value == "hostile" for finding in report.findings), report


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_what_one_process_sees_of_the_witnesses(example):
    """The judge agrees with the catalog on the objects that the author of the function gives as evidence."""
    subject = load_subject(f"{example.path}:index_func", Kind.INDEX)
    witness = load_object(f"{example.path}:witness")
    inline = Inline(subject.function, Kind.INDEX)
    seen = {violation.rule.value for obj in witness() for violation in inline.violations(fuzzed_object_of(obj))}
    assert seen <= {*example.rules, "own-result", "repeatable", "equal-objects"} if example.rules else not seen, seen
    if set(example.rules) & INLINE and example.kind == "plain":
        assert seen & set(example.rules)


def test_the_catalog_is_complete():
    files = {file.stem for file in EXAMPLES[0].path.parent.glob("*.py")}
    assert files == {example.name for example in EXAMPLES}
    known = {rule.value for rule in Rule}
    assert all(set(example.rules) <= known and bool(example.rules) is not example.is_correct for example in EXAMPLES)
    assert all("index_func" in example.path.read_text(encoding="utf-8") for example in EXAMPLES)
    assert all(ast.get_docstring(ast.parse(example.path.read_text(encoding="utf-8"))) for example in EXAMPLES)


def test_the_gallery_is_as_large_as_is_said():
    number = Counter((example.is_correct, example.is_held_out) for example in EXAMPLES)
    assert number[False, False] + number[False, True] >= 36
    assert number[True, False] + number[True, True] >= 12
    assert 3 * number[False, True] >= number[False, True] + number[False, False]
