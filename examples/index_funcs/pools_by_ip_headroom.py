"""Node pools by zone and address pressure; a pool with just the addresses that it needs divides by 0."""

from dataclasses import dataclass

ADDRESSES_PER_POD = 2  # the network plugin keeps a spare address for each pod
RESERVED = 5  # by the cloud, in each subnet


@dataclass
class NodePool:
    name: str
    zone: str | None
    addresses: int
    max_pods: int


def _pressure(pool):
    if pool.max_pods <= 0:
        return "unsized"
    spare = pool.addresses - RESERVED - ADDRESSES_PER_POD * pool.max_pods
    percent = 100 * pool.max_pods // spare
    if percent < 0:
        return "exhausted"
    return "tight" if percent > 50 else "relaxed"


def index_func(obj: NodePool):
    pressure = _pressure(obj)
    return [pressure, f"{obj.zone or 'regional'}/{pressure}"]


def witness():
    return [
        NodePool("batch", "eu-west-1a", 1024, 110),
        NodePool("web", None, 128, 110),
        NodePool("system", "eu-west-1b", 251, 123),
    ]
