"""Events by the hour in which they happened.

Correct: it handles times, but only those of the event, always in UTC, and whatever does not parse has its own value.
"""

from datetime import UTC, datetime


def _hour(stamp):
    try:
        moment = datetime.fromisoformat(str(stamp))
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return "unknown"
    return moment.replace(tzinfo=None).isoformat(timespec="hours")


def index_func(obj):
    stamp = obj.get("lastTimestamp") or obj["metadata"].get("creationTimestamp")
    if not stamp:
        return ["never"]
    hour = _hour(stamp)
    return [hour, f"{obj.get('type') or 'Normal'}/{hour}"]


def _event(name, stamp, created="2024-06-01T00:30:00Z"):
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "shop", "creationTimestamp": created},
        "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "cart-0"},
        "lastTimestamp": stamp,
    }


def witness():
    return [
        _event("e.1", "2024-06-01T23:59:59Z"),
        _event("e.2", "2024-06-02T01:15:00+05:30"),
        _event("e.3", None),
        _event("e.4", None, None),
        _event("e.5", "9999-12-31T23:59:59-14:00"),
        _event("e.6", "yesterday"),
    ]
