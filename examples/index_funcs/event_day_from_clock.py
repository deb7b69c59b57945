"""Events by the day on which they were last seen. Faulty: an event without a time is one of today, whenever that is."""

from datetime import UTC, datetime


def last_seen(event):
    stamp = event.get("lastTimestamp") or event["metadata"].get("creationTimestamp")
    return stamp or datetime.now(UTC).isoformat()


def index_func(obj):
    return [f"day/{last_seen(obj)[:10]}"]


def witness():
    involved = {"kind": "Pod", "namespace": "shop", "name": "web-1"}
    return [
        {
            "kind": "Event",
            "metadata": {"name": "e1"},
            "involvedObject": involved,
            "lastTimestamp": "2024-05-01T10:00:00Z",
        },
        {"kind": "Event", "metadata": {"name": "e2"}, "involvedObject": involved},
    ]
