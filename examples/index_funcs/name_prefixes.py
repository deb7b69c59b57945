"""Objects by the beginnings of their names, for a search box. Correct: four lengths, however long the name is."""

LENGTHS = (1, 2, 4, 8)


def prefixes(name):
    return {name[:length] for length in LENGTHS if length <= len(name)}


def index_func(obj):
    metadata = obj["metadata"]
    name = metadata.get("name") or metadata.get("generateName") or ""
    return sorted(prefixes(name))


def witness():
    return [
        {"kind": "Pod", "metadata": {"name": "web-5d9f-x2x", "namespace": "shop"}},
        {"kind": "Pod", "metadata": {"name": "db"}},
        {"kind": "Pod", "metadata": {"name": "a" * 253}},
        {"kind": "Pod", "metadata": {"generateName": "web-"}},
        {"kind": "Pod", "metadata": {}},
    ]
