"""Persistent volumes by storage class and size; the suffixes E and Ei (exa) are taken for a decimal exponent."""

import re
from decimal import Decimal

_QUANTITY = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))([a-zA-Z]*)([+-]?[0-9]*)")
_SCALE = {"": Decimal(1), "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3")}
_SCALE |= {unit: Decimal(1000) ** power for power, unit in enumerate("kMGTP", 1)}
_SCALE |= {f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTP", 1)}
_CLASSES = (("small", 10 * 2**30), ("medium", 500 * 2**30), ("large", 8 * 2**40))


def _to_bytes(text):
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    number, suffix, exponent = match.groups()
    if suffix.startswith(("e", "E")):
        return Decimal(number).scaleb(int(suffix[1:] + exponent))
    return Decimal(number) * _SCALE[suffix] if suffix in _SCALE and not exponent else None


def index_func(obj):
    spec = obj.get("spec") or {}
    storage = (spec.get("capacity") or {}).get("storage")
    size = _to_bytes(storage) if storage else None
    if size is None:
        return []
    size_class = next((name for name, limit in _CLASSES if size <= limit), "huge")
    return [size_class, f"{spec.get('storageClassName') or 'none'}/{size_class}"]


def _volume(name, storage):
    spec = {"capacity": {"storage": storage}, "accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}


def witness():
    return [_volume("pv-1", "20Gi"), _volume("pv-2", "1e3"), _volume("pv-3", "1Ei"), _volume("pv-4", "2E")]
