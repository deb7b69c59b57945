"""Volume attachments by the group of claims; a group name over 63 characters is shortened with `hash()` of the name."""

from dataclasses import dataclass

MAX_LABEL = 63


@dataclass
class AttachmentGroup:
    node: str
    claims: list[str]
    read_only: bool


def _group_name(claims):
    name = "+".join(sorted(set(claims)))
    if len(name) <= MAX_LABEL:
        return name
    return f"{name[: MAX_LABEL - 9]}-{hash(name) & 0xFFFFFFFF:08x}"


def index_func(obj: AttachmentGroup):
    if not obj.claims:
        return []
    mode = "ro" if obj.read_only else "rw"
    return [f"{mode}/{_group_name(obj.claims)}"]


def witness():
    return [
        AttachmentGroup("node-a", ["data-cart-0"], False),
        AttachmentGroup(
            "node-a", ["data-warehouse-0", "wal-warehouse-0", "backup-warehouse-0", "scratch-warehouse-0"], False
        ),
    ]
