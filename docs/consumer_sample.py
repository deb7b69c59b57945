"""What a user of the package writes; type-checked against the installed wheel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_type

import kcache
from kcache.testing import Finding, SuiteResult, run_conformance


@dataclass(frozen=True)
class Pod:
    """An object of the user's own."""

    name: str
    node: str


def key_of(pod: Pod) -> str:
    """The key function."""
    return pod.name


def by_node(pod: Pod) -> list[str]:
    """An index function."""
    return [pod.node]


def pods_on(indexer: kcache.Indexer[Pod], node: str) -> list[Pod]:
    """Takes any Indexer, also the user's own."""
    return indexer.by_index("node", node)


indexer = kcache.new_indexer(key_of, {"node": by_node})
indexer.add(Pod("a", "n1"))
indexer.replace([Pod("a", "n1"), Pod("b", "n1")])
names: list[str] = sorted(pod.name for pod in pods_on(indexer, "n1"))
found: Pod | None = indexer.get_by_key("a")
fallback: Pod | str = indexer.get_by_key("c", "nothing")
indexer.transaction(kcache.Transaction(kcache.TransactionType.DELETE, Pod("a", "n1")))


def check() -> SuiteResult:
    """Run the conformance suite."""
    result = run_conformance(kcache.new_indexer, seconds=5.0, semantics="current")
    assert_type(result.findings, tuple[Finding, ...])
    return assert_type(result, SuiteResult)
