"""Volumes by storage class. Faulty: the class itself is returned, a str and no list."""

from types import SimpleNamespace

NO_CLASS = "<none>"


def index_func(obj):
    if obj.spec is None or not obj.spec.storage_class_name:
        return NO_CLASS
    return obj.spec.storage_class_name


def volume(name, spec):
    return SimpleNamespace(metadata=SimpleNamespace(name=name, labels=None), spec=spec)


def witness():
    return [
        volume("pv-1", SimpleNamespace(storage_class_name="fast", access_modes=["ReadWriteOnce"])),
        volume("pv-2", None),
    ]
