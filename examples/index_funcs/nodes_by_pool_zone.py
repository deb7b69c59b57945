"""Nodes by node pool and zone; the missing zone is filled in on the labels of the cached node itself."""

POOL = "cloud.example.com/nodepool"
ZONE = "topology.kubernetes.io/zone"


def index_func(obj):
    labels = obj["metadata"].get("labels") or {}
    zone = labels.setdefault(ZONE, "unknown")
    pool = labels.get(POOL) or "default"
    return [pool, f"{pool}/{zone}"]


def _node(name, labels):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def witness():
    return [
        _node("node-a", {POOL: "batch", ZONE: "eu-west-1a"}),
        _node("node-b", {POOL: "batch"}),
    ]
