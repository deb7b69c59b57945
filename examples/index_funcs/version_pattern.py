"""Objects by version. Correct: a partial of a function, with a pattern all of whose optional groups are dealt with."""

import functools
import re

SEMANTIC = re.compile(r"v?(?P<major>\d+)(?:\.(?P<minor>\d+))?(?:\.(?P<patch>\d+))?(?:-(?P<extra>[A-Za-z0-9.]+))?")


def version_values(pattern, label, obj):
    text = (obj["metadata"].get("labels") or {}).get(label)
    found = pattern.fullmatch(text or "")
    if found is None:
        return ["unversioned"]
    major, minor, patch = (found[name] or "0" for name in ("major", "minor", "patch"))
    values = [major, f"{major}.{minor}", f"{major}.{minor}.{patch}"]
    if found["extra"]:
        values.append(f"extra/{found['extra']}")
    return values


index_func = functools.partial(version_values, SEMANTIC, "app.kubernetes.io/version")


def witness():
    return [
        {"kind": "Pod", "metadata": {"name": "web", "labels": labels}}
        for labels in (
            None,
            *({"app.kubernetes.io/version": text} for text in ("v1.27", "2", "1.2.3-rc.1", "latest", "")),
        )
    ]
