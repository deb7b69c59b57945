"""Objects by version. Faulty: the third number of a version is optional in the pattern, but not in the code."""

import re
from types import SimpleNamespace

VERSION = "app.kubernetes.io/version"
PATTERN = re.compile(r"v(\d+)\.(\d+)(?:\.(\d+))?")


def index_func(obj):
    version = (obj.metadata.labels or {}).get(VERSION)
    found = PATTERN.fullmatch(version or "")
    if found is None:
        return ["unversioned"]
    major, minor, patch = map(int, found.groups())
    return [f"{major}", f"{major}.{minor}", f"{major}.{minor}.{patch}"]


def witness():
    return [
        SimpleNamespace(metadata=SimpleNamespace(name="web", namespace="shop", labels=labels))
        for labels in (None, {VERSION: "latest"}, {VERSION: "v1.27.3"}, {VERSION: "v1.27"})
    ]
