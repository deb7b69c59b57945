"""Objects by the labels of a team. Faulty: values are gathered in one list for all calls, also for those of threads."""

PREFIX = "team.example.com/"

_values = []  # used again and again, to make fewer lists


def gather(namespace, labels):
    _values.clear()
    for key, value in labels.items():
        if key.startswith(PREFIX):
            _values.append(f"{namespace}/{key.removeprefix(PREFIX)}={value}")
    return sorted(_values)


def index_func(obj):
    metadata = obj["metadata"]
    return gather(metadata.get("namespace") or "default", metadata.get("labels") or {})


def deployment(namespace, **labels):
    labels = {PREFIX + key: value for key, value in labels.items()}
    return {"kind": "Deployment", "metadata": {"name": "web", "namespace": namespace, "labels": labels}}


def witness():
    return [
        deployment("shop", name="carts", pager="p-1", stage="live", cost="c-12"),
        deployment("bank", name="ledger", pager="p-2", stage="test", cost="c-40"),
    ]
