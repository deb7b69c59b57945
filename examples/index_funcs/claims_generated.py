"""Pods by the claims that they mount. Faulty: the function is a generator, so there is no list of values."""


def index_func(obj):
    spec = obj.get("spec") or {}
    namespace = obj["metadata"].get("namespace") or "default"
    seen = set()
    for volume in spec.get("volumes") or []:
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim and claim not in seen:
            seen.add(claim)
            yield f"{namespace}/{claim}"


def witness():
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "db-data"}},
        {"name": "tmp", "emptyDir": {}},
    ]
    return [
        {
            "kind": "Pod",
            "metadata": {"name": "db-0", "namespace": "shop"},
            "spec": {"containers": [], "volumes": volumes},
        },
        {"kind": "Pod", "metadata": {"name": "db-1"}},
    ]
