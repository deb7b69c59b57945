"""Objects by finalizer. Faulty: the list is the object's own, so a caller that changes it changes the object."""

from types import SimpleNamespace


def index_func(obj):
    finalizers = obj.metadata.finalizers
    if finalizers is None:
        return []
    return finalizers


def witness():
    return [
        SimpleNamespace(metadata=SimpleNamespace(name=name, namespace=None, finalizers=finalizers))
        for name, finalizers in (
            ("pv-1", ["kubernetes.io/pv-protection", "external-attacher/csi"]),
            ("pv-2", []),
            ("pv-3", None),
        )
    ]
