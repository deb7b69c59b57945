"""Objects by the zones in an annotation. Correct: what was found is kept, by all that it depends on, under a lock."""

import threading
from types import SimpleNamespace

ZONES = "topology.example.com/zones"
MOST_KEPT = 1000

_lock = threading.Lock()
_kept = {}


def zones(namespace, text):
    key = (namespace, text)
    with _lock:
        if key not in _kept:
            if len(_kept) >= MOST_KEPT:
                _kept.clear()
            names = {part.strip() for part in text.split(",")} - {""}
            _kept[key] = tuple(f"{namespace}/{name}" for name in sorted(names))
        return _kept[key]


def index_func(obj):
    text = (obj.metadata.annotations or {}).get(ZONES)
    return list(zones(obj.metadata.namespace or "default", text)) if text else []


def witness():
    return [
        SimpleNamespace(metadata=SimpleNamespace(name="web", namespace=namespace, annotations=annotations))
        for namespace in ("shop", "bank", None)
        for annotations in ({ZONES: "eu-1, eu-2,eu-1"}, {ZONES: " , "}, {}, None)
    ]
