"""Pods by every selector that could match them, so that a service finds its pods by one look-up: 2**n for n labels."""

from itertools import combinations


def index_func(obj):
    metadata = obj["metadata"]
    namespace = metadata.get("namespace") or "default"
    pairs = [f"{key}={value}" for key, value in sorted((metadata.get("labels") or {}).items())]
    values = []
    for size in range(1, len(pairs) + 1):
        values.extend(f"{namespace}:{','.join(chosen)}" for chosen in combinations(pairs, size))
    return values


def _pod(name, labels):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "labels": labels},
        "spec": {"containers": [{"name": "main"}]},
    }


def witness():
    return [
        _pod("cart-0", {"app": "cart"}),
        _pod("cart-1", {f"team.example.com/dimension-{number}": "on" for number in range(14)}),
    ]
