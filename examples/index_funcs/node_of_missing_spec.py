"""Pods by the node that they run on. Faulty: a pod whose spec is None raises."""

from types import SimpleNamespace


def index_func(obj):
    node = obj.spec.node_name
    return [node] if node else []


def pod(name, spec):
    return SimpleNamespace(metadata=SimpleNamespace(name=name, namespace="shop"), spec=spec)


def witness():
    return [
        pod("web-1", SimpleNamespace(node_name="node-a", containers=[])),
        pod("web-2", SimpleNamespace(node_name=None, containers=[])),
        pod("web-3", None),
    ]
