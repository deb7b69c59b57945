"""Pods by owner; the static pods of the control plane (no owner, kube-system, high priority) share one result list."""

from types import SimpleNamespace

SYSTEM_CRITICAL = 2_000_000_000
_STATIC = ["static"]


def index_func(obj):
    owners = obj.metadata.owner_references or []
    if not owners:
        priority = (obj.spec.priority if obj.spec else None) or 0
        if obj.metadata.namespace == "kube-system" and priority >= SYSTEM_CRITICAL:
            return _STATIC
        return ["orphan"]
    return sorted({f"{owner.kind}/{owner.name}" for owner in owners})


def _pod(namespace, name, priority, *owners):
    references = [SimpleNamespace(kind=kind, name=owner, uid=f"uid-{owner}") for kind, owner in owners]
    return SimpleNamespace(
        metadata=SimpleNamespace(name=name, namespace=namespace, owner_references=references or None),
        spec=SimpleNamespace(containers=[SimpleNamespace(name="main")], node_name="node-a", priority=priority),
    )


def witness():
    return [
        _pod("shop", "cart-0", None, ("StatefulSet", "cart")),
        _pod("kube-system", "coredns-5d78c-x2x", 2_000_000_000, ("ReplicaSet", "coredns-5d78c")),
        _pod("kube-system", "etcd-node-a", 2_000_001_000),
        _pod("kube-system", "kube-apiserver-node-a", 2_000_001_000),
    ]
