"""Objects by the groups in an annotation. Faulty: raises when two names differ only until they are normalised."""

import unicodedata

GROUPS = "access.example.com/groups"  # names with commas between them


def group_key(name):
    return unicodedata.normalize("NFKC", name).casefold()


def index_func(obj):
    text = (obj["metadata"].get("annotations") or {}).get(GROUPS) or ""
    names = {part.strip().lower() for part in text.split(",")} - {""}
    by_key = {group_key(name): name for name in names}
    if len(by_key) < len(names):
        raise ValueError(f"groups of one name: {text!r}")
    return sorted(by_key)


def witness():
    return [
        {"kind": "Namespace", "metadata": {"name": "shop", "annotations": {GROUPS: groups}}}
        for groups in ("Ops, dev,OPS,", "Straße, Gasse", "straße, strasse", "office,o\ufb03ce")
    ]
