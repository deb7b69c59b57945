"""Services by the pairs of their selector.

Correct: it reuses a scratch list and measures its own time, but the list belongs to the thread, the result is a copy,
and no value comes from the clock.
"""

import threading
import time
from types import SimpleNamespace


class _Scratch(threading.local):
    def __init__(self):
        self.pairs = []
        self.seconds = 0.0


_scratch = _Scratch()


def index_func(obj):
    began = time.perf_counter()
    pairs = _scratch.pairs
    pairs.clear()
    namespace = obj.metadata.namespace or "default"
    selector = (obj.spec.selector if obj.spec else None) or {}
    for key in sorted(selector):
        pairs.append(f"{namespace}:{key}={selector[key]}")
    if not pairs:
        pairs.append(f"{namespace}:")
    values = list(pairs)
    _scratch.seconds += time.perf_counter() - began
    return values


def _service(name, namespace, selector):
    return SimpleNamespace(
        metadata=SimpleNamespace(name=name, namespace=namespace),
        spec=SimpleNamespace(selector=selector, type="ClusterIP", ports=[]),
    )


def witness():
    return [
        _service("cart", "shop", {"tier": "web", "app": "cart"}),
        _service("external", "shop", None),
        _service("kubernetes", None, {}),
        SimpleNamespace(metadata=SimpleNamespace(name="odd", namespace=""), spec=None),
    ]
