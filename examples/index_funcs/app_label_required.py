"""Objects by namespace and application. Faulty: an object without labels raises."""

APP = "app.kubernetes.io/name"


def index_func(obj):
    metadata = obj["metadata"]
    labels = metadata["labels"]
    if APP not in labels:
        return []
    namespace = metadata.get("namespace") or "default"
    return [f"{namespace}/{labels[APP]}"]


def witness():
    return [
        {"kind": "Pod", "metadata": {"name": "web-1", "namespace": "shop", "labels": {APP: "web"}}},
        {"kind": "Pod", "metadata": {"name": "debug", "namespace": "shop"}},
        {"kind": "Pod", "metadata": {"name": "debug", "namespace": "shop", "labels": None}},
    ]
