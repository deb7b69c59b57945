"""Node pools by how full they are. Faulty: a pool with room for no further pod, and none too many, divides by zero."""

from dataclasses import dataclass

PODS_PER_NODE = 110
RESERVED = 10


@dataclass
class NodePool:
    """Nodes of one kind, and the pods on them."""

    name: str
    zone: str | None
    nodes: int
    pods: int


def load(pool):
    free = PODS_PER_NODE * pool.nodes - RESERVED - pool.pods
    if free < 0:
        return "over"
    return "busy" if pool.pods // free >= 3 else "idle"


def index_func(obj: NodePool):
    return [f"{obj.zone or 'any'}/{load(obj)}"]


def witness():
    return [NodePool("a", "eu-1", 3, 20), NodePool("b", None, 1, 101), NodePool("c", "eu-1", 2, 210)]
