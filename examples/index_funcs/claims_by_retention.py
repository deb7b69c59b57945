"""Volume claims by the day on which they may be removed; if a hold annotation names the claim, 30 days from now."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

HOLD_PREFIX = "retain.example.com/"
HOLD = timedelta(days=30)


def index_func(obj):
    annotations = obj.metadata.annotations or {}
    if f"{HOLD_PREFIX}{obj.metadata.name}" in annotations:
        return [f"until/{datetime.now(UTC) + HOLD:%Y-%m-%d}"]
    if f"{HOLD_PREFIX}forever" in annotations:
        return ["never"]
    return ["any-time"]


def _claim(name, annotations):
    return SimpleNamespace(
        metadata=SimpleNamespace(name=name, namespace="shop", annotations=annotations),
        spec=SimpleNamespace(access_modes=["ReadWriteOnce"], storage_class_name="fast", volume_name=None),
    )


def witness():
    return [
        _claim("data-cart-0", None),
        _claim("data-cart-1", {"retain.example.com/forever": ""}),
        _claim("data-cart-2", {"retain.example.com/data-cart-2": "requested by finance"}),
    ]
