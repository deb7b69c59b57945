"""A finding is made smaller, never another one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import kcache
from kcache_conformance.indexers.phases import PHASES
from kcache_conformance.indexers.target_type import INDEXER
from kcache_conformance.phases.phase import PhaseContext
from kcache_conformance.phases.symptoms import symptoms_of
from kcache_model.finding import Finding, FindingKind
from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item
from kcache_model.indexers.operations import OperationName
from kcache_model.indexers.program import Program
from kcache_model.indexers.target import make_target
from kcache_model.outcomes import returned


class ListsOne(kcache.Cache[Any]):
    """``list`` fails where there are two objects."""

    has_other_fault = False

    def __init__(self, key_func: Any, indexers: Any) -> None:
        super().__init__(key_func, kcache.new_thread_safe_store(indexers))
        self._asked = False

    def index_keys(self, name: str, value: str) -> list[str]:
        self._asked = True
        return super().index_keys(name, value)

    def delete(self, obj: Any) -> None:
        if self.has_other_fault and not self._asked:
            raise RuntimeError("the other fault")
        super().delete(obj)

    def list(self) -> list[Any]:
        found = super().list()
        if len(found) > 1:
            raise RuntimeError("too many")
        return found


class ListsOneAndMore(ListsOne):
    """A smaller program shows an exception in ``delete``, too, which the original program does not."""

    has_other_fault = True


@pytest.mark.parametrize("factory", [ListsOne, ListsOneAndMore])
def test_the_call_that_failed_stays_the_one_that_fails(factory: Any) -> None:
    target = make_target(factory, unsupported=["list_keys"])  # so that not all is read back after each step
    finding = PHASES["smoke"](PhaseContext(target)).finding
    assert finding is not None
    assert finding.kind is FindingKind.EXCEPTION
    assert "too many" in finding.summary
    assert finding.program is not None
    assert [operation.name for operation in finding.program.operations()][-1] is OperationName.LIST
    assert len(finding.program) < 4


def test_an_innocent_one_has_no_finding() -> None:
    assert PHASES["smoke"](PhaseContext(make_target(kcache.new_indexer))).finding is None


PROGRAM = Program((), (op.add(Item("a", "v1")), op.list_keys(), op.list_keys()))
WRONG = Finding(
    FindingKind.DIVERGENCE, "", "one", PROGRAM, 2, returned(("a",)), returned(("b",)), rule="result-is-no-list"
)
BROKEN = Finding(FindingKind.INVARIANT, "", "the key 'a' of 2 is lost", PROGRAM, 0, rule="missing-index-entry")


@pytest.mark.parametrize(
    ("finding", "other", "is_same"),
    [
        (WRONG, replace(WRONG, step=1, summary="two", observed=returned(())), True),
        (WRONG, replace(WRONG, step=0), False),
        (WRONG, replace(WRONG, rule="unexpected-error"), False),
        (WRONG, replace(WRONG, location="cache.py:7 in list_keys"), False),
        (BROKEN, replace(BROKEN, summary="the key 'b' of 3 is lost"), True),
        (BROKEN, replace(BROKEN, step=2), True),
        (BROKEN, replace(BROKEN, program=Program((), (op.update(Item("a", "v1")),))), False),
    ],
)
def test_two_findings_are_about_the_same(finding: Finding, other: Finding, is_same: bool) -> None:
    rules = INDEXER.rules
    assert symptoms_of(finding, rules).isdisjoint(symptoms_of(other, rules)) != is_same
