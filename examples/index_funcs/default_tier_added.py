"""Objects by tier. Faulty: the default tier is written into the labels of the object that was asked about."""

TIER = "tier"
DEFAULT_TIER = "backend"


def labels_with_tier(metadata):
    labels = metadata.get("labels")
    if labels is None:
        labels = metadata["labels"] = {}
    labels.setdefault(TIER, DEFAULT_TIER)
    return labels


def index_func(obj):
    labels = labels_with_tier(obj["metadata"])
    return [labels[TIER]]


def witness():
    return [
        {"kind": "Deployment", "metadata": {"name": "web", "labels": {"app": "web", "tier": "frontend"}}},
        {"kind": "Deployment", "metadata": {"name": "db", "labels": {"app": "db"}}},
        {"kind": "Deployment", "metadata": {"name": "mq"}},
    ]
