"""Objects by some of their labels. Correct: the function is an object, which holds the names of the labels."""

from types import SimpleNamespace


class LabelIndex:
    """Calls give a value for each of the labels that an object has."""

    def __init__(self, *names):
        self._names = tuple(dict.fromkeys(names))

    def __call__(self, obj):
        labels = obj.metadata.labels or {}
        return [f"{name}={labels[name]}" for name in self._names if name in labels]


index_func = LabelIndex("app", "team", "app.kubernetes.io/part-of")


def witness():
    return [
        SimpleNamespace(metadata=SimpleNamespace(name="web", namespace="shop", labels=labels))
        for labels in (
            None,
            {},
            {"app": "web", "tier": "frontend"},
            {"team": "", "app.kubernetes.io/part-of": "shop", "app": "web"},
        )
    ]
