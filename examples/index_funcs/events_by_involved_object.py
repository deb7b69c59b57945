"""Events by involved object, by reference and by uid; a hand-made reference has no uid, and None lands in the list."""

from types import SimpleNamespace


def index_func(obj):
    ref = obj.involved_object
    if ref is None:
        return []
    return [f"{ref.kind}/{ref.namespace or ''}/{ref.name}", ref.uid]


def _event(name, kind, target, uid):
    return SimpleNamespace(
        metadata=SimpleNamespace(name=name, namespace="shop"),
        involved_object=SimpleNamespace(kind=kind, namespace="shop", name=target, uid=uid),
        reason="Scheduled",
    )


def witness():
    return [
        _event("cart-0.17a1", "Pod", "cart-0", "6f1c7f0e-3a55-4f0c-9d3e-0c8b4f4f8e21"),
        _event("node-a.17a2", "Node", "node-a", None),
    ]
