"""Objects by application and instance. Correct: manifests or objects with attributes, tried and not asked."""

from types import SimpleNamespace

LABELS = ("app.kubernetes.io/name", "app.kubernetes.io/instance")


def field(holder, name):
    try:
        return holder[name]
    except (KeyError, TypeError):
        pass
    try:
        return getattr(holder, name)
    except AttributeError:
        return None


def index_func(obj):
    labels = field(field(obj, "metadata"), "labels")
    values = []
    for label in LABELS:
        try:
            values.append(f"{label}={labels[label]}")
        except (KeyError, TypeError):
            continue
    return values


def witness():
    some = ({"app.kubernetes.io/name": "web"}, dict.fromkeys(LABELS, "web"), {"tier": "frontend"}, {}, None)
    return [
        *({"kind": "Pod", "metadata": {"name": "web", "labels": labels}} for labels in some),
        {"kind": "Pod", "metadata": {"name": "web"}},
        *(SimpleNamespace(metadata=SimpleNamespace(name="web", labels=labels)) for labels in some),
    ]
