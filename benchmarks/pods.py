"""What the subjects hold while they are measured: small objects, 10,000 of them under two indices."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

STORED = 10_000
SAMPLE = 2_000


@dataclass(slots=True, eq=False)
class Pod:
    """A small object: its key, and what it is indexed by."""

    key: str
    namespace: str
    node: str


def key_of(pod: Pod) -> str:
    return pod.key


def by_node(pod: Pod) -> list[str]:
    return [pod.node]


def by_namespace(pod: Pod) -> list[str]:
    return [pod.namespace]


INDEXERS = {"node": by_node, "namespace": by_namespace}


def node_with(matches: int, number: int = 0) -> str:
    """One of the nodes that have 10, 100 or 1000 pods of :func:`make_pods`."""
    return f"node-of-{matches}-{number}"


def make_pods(count: int, first: int = 0) -> list[Pod]:
    """Pods in 20 namespaces; of 10,000, 1,000 are on nodes of 10, 1,000 on nodes of 100, the rest on nodes of 1000."""
    pods = []
    for number in range(first, first + count):
        position = number % STORED
        matches = 10 if position < 1_000 else 100 if position < 2_000 else 1_000
        namespace = f"namespace-{number % 20}"
        node = f"node-of-{matches}-{position % 1_000 // matches if matches < 1_000 else position // 1_000 - 2}"
        pods.append(Pod(f"{namespace}/pod-{number}", namespace, node))
    return pods


@dataclass
class Data:
    """The pods of a run; the samples are in random order, and no longer than ``sample``."""

    stored: list[Pod] = field(default_factory=lambda: make_pods(STORED))
    sample: int = SAMPLE

    def __post_init__(self) -> None:
        self.some = random.Random(1).sample(self.stored, min(self.sample, len(self.stored)))
        self.same = [Pod(pod.key, pod.namespace, pod.node) for pod in self.some]
        self.moved = [Pod(pod.key, pod.namespace, f"other-{pod.node}") for pod in self.some]
        self.new = make_pods(len(self.some), first=STORED)
        self.keys = [pod.key for pod in self.some]
