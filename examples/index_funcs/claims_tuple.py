"""Pods by the claims that they mount. Correct: a tuple instead of a list, sorted and without repetition."""


def claims(spec):
    for volume in spec.get("volumes") or ():
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim:
            yield claim


def index_func(obj):
    namespace = obj["metadata"].get("namespace") or "default"
    return tuple(sorted({f"{namespace}/{claim}" for claim in claims(obj.get("spec") or {})}))


def pod(name, *names):
    volumes = [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": claim}} for i, claim in enumerate(names)]
    volumes.append({"name": "tmp", "emptyDir": {}})
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"containers": [{"name": "main"}], "volumes": volumes},
    }


def witness():
    return [
        pod("db-0", "db-data", "db-logs", "db-data"),
        pod("web-0"),
        {"kind": "Pod", "metadata": {"name": "new"}},
        {"kind": "Pod", "metadata": {"name": "new"}, "spec": {"containers": [], "volumes": None}},
    ]
