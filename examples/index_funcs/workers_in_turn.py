"""Objects by the worker that handles them. Faulty: workers take turns, so every call gives the next one."""

WORKERS = ("worker-a", "worker-b", "worker-c")

_calls = 0


def next_worker():
    global _calls
    _calls += 1
    return WORKERS[_calls % len(WORKERS)]


def index_func(obj):
    annotations = obj["metadata"].get("annotations") or {}
    pinned = annotations.get("scheduler.example.com/worker")
    return [pinned or next_worker()]


def witness():
    pinned = {"scheduler.example.com/worker": "worker-a"}
    return [
        {"kind": "Job", "metadata": {"name": "build-1", "namespace": "ci", "annotations": pinned}},
        {"kind": "Job", "metadata": {"name": "build-2", "namespace": "ci"}},
        {"kind": "Job", "metadata": {"name": "build-2", "namespace": "ci"}},
    ]
