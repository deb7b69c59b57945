"""Objects by the secrets that they name, wherever it is. Correct: goes down the spec, but only so far."""

from collections.abc import Mapping

SECRET_FIELDS = frozenset({"secretName", "secretRef", "secretKeyRef"})
DEEPEST = 16


def secrets(part, depth=0):
    if depth > DEEPEST:
        return
    if isinstance(part, Mapping):
        for key, value in part.items():
            if key in SECRET_FIELDS:
                name = value.get("name") if isinstance(value, Mapping) else value
                if isinstance(name, str) and name:
                    yield name
            yield from secrets(value, depth + 1)
    elif isinstance(part, list | tuple):
        for item in part:
            yield from secrets(item, depth + 1)


def index_func(obj):
    namespace = obj["metadata"].get("namespace") or "default"
    return [f"{namespace}/{name}" for name in sorted(set(secrets(obj.get("spec"))))]


def witness():
    key = {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}
    main = {"name": "main", "env": [key], "envFrom": [{"secretRef": {"name": "mail"}}]}
    volumes = [{"name": "tls", "secret": {"secretName": "web-tls"}}, {"name": "db", "secret": {"secretName": "db"}}]
    return [
        {"metadata": {"name": "web", "namespace": "shop"}, "spec": {"containers": [main], "volumes": volumes}},
        {"metadata": {"name": "web"}, "spec": {"template": {"spec": {"containers": [main]}}}},
        {"metadata": {"name": "web"}, "spec": None},
        {"metadata": {}},
    ]
