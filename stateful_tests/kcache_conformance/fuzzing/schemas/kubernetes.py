"""The schemas of Kubernetes objects that index functions usually meet, as manifests or with attributes.

Only what indices are made from; whoever needs more gives a type, a schema or samples. Formats are those that the API
server enforces, so that no function is accused because of an object which cannot exist.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .schema import Array, Boolean, Choice, Field, Format, Integer, Map, Moment, Record, Schema, Style, Text

INT32 = Integer(-(2**31), 2**31 - 1)
COUNT = Integer(0, 2**31 - 1)
PORT = Integer(1, 65535)
GENERATION = Integer(0, 2**63 - 1)
FREE = Text()
NAME = Text(Format.NAME, most=253)
LABEL = Text(Format.LABEL, most=63)
QUANTITIES = Map(
    Text(Format.LABEL_KEY, examples=("cpu", "memory", "storage", "ephemeral-storage", "nvidia.com/gpu")),
    Text(Format.QUANTITY),
)
LABELS = Map(Text(Format.LABEL_KEY), Text(Format.LABEL_VALUE, most=63))
ANNOTATIONS = Map(Text(Format.LABEL_KEY), Text())


@dataclass(frozen=True)
class Manner:
    """The manner in which an object is written.

    Attributes:
        style: items or attributes.
        is_camel: ``nodeName``, as in manifests, or ``node_name``, as in the official client's models.
    """

    style: Style
    is_camel: bool

    @property
    def moment(self) -> Schema:
        """Times: texts in manifests, ``datetime`` in models."""
        return Text(Format.TIME) if self.style is Style.ITEMS else Moment()

    def field(self, name: str, schema: Schema, *, required: bool = False) -> Field:
        """A field, given by its name in manifests."""
        snake = snake_case(name)
        if required and isinstance(schema, Text) and schema.format is not Format.FREE:
            schema = replace(schema, least=max(1, schema.least))
        own, other = (name, snake) if self.is_camel else (snake, name)
        return Field(own, schema, not required, not required, () if own == other else (other,))

    def record(self, name: str, *fields: Field) -> Record:
        """An object with these fields."""
        return Record(fields, self.style, name=name)


MANIFEST = Manner(Style.ITEMS, is_camel=True)
MODEL = Manner(Style.ATTRIBUTES, is_camel=False)
DYNAMIC = Manner(Style.ATTRIBUTES, is_camel=True)
"""Attributes in camel case: the client's ``ResourceInstance``."""
AS_DICT = Manner(Style.ITEMS, is_camel=False)
"""Items in snake case: what a model's ``to_dict`` gives."""

MANNERS = (MODEL, MANIFEST, DYNAMIC, AS_DICT)


def snake_case(name: str) -> str:
    """``node_name`` for ``nodeName``, ``host_ip`` for ``hostIP``, ``pod_ips`` for ``podIPs``, as the client has it."""
    plurals = re.sub(r"(IP|CIDR)s\b", lambda found: found[1].capitalize() + "s", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", re.sub(r"([A-Z])([A-Z][a-z])", r"\1_\2", plurals)).lower()


def camel_case(name: str) -> str:
    """``nodeName`` for ``node_name``."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def metadata(manner: Manner) -> Record:
    """``metadata``: always there in what a store holds, but each of its fields may be missing."""
    f = manner.field
    owner = manner.record(
        "OwnerReference",
        f("apiVersion", FREE, required=True),
        f("kind", Text(examples=("ReplicaSet", "Node", "StatefulSet", "Job", "DaemonSet")), required=True),
        f("name", NAME, required=True),
        f("uid", FREE, required=True),
        f("controller", Boolean()),
        f("blockOwnerDeletion", Boolean()),
    )
    return manner.record(
        "ObjectMeta",
        f("name", NAME),
        f("namespace", LABEL),
        f("labels", LABELS),
        f("annotations", ANNOTATIONS),
        f("ownerReferences", Array(owner, most=20)),
        f("finalizers", Array(Text(Format.LABEL_KEY), most=20)),
        f("uid", FREE),
        f("resourceVersion", Text(Format.DIGITS)),
        f("generation", GENERATION),
        f("generateName", LABEL),
        f("creationTimestamp", manner.moment),
        f("deletionTimestamp", manner.moment),
        f("deletionGracePeriodSeconds", COUNT),
    )


def plain(kind: str, manner: Manner, *fields: Field) -> Record:
    """A kind whose fields stand beside its metadata."""
    return manner.record(
        kind,
        manner.field("apiVersion", Text(examples=("v1", "apps/v1"))),
        manner.field("kind", Choice((kind,))),
        manner.field("metadata", metadata(manner), required=True),
        *fields,
    )


def with_spec(kind: str, manner: Manner, spec: Sequence[Field], status: Sequence[Field] = ()) -> Record:
    """A kind with ``spec`` and ``status``, either of which may be missing."""
    return plain(
        kind,
        manner,
        manner.field("spec", manner.record(f"{kind}Spec", *spec)),
        manner.field("status", manner.record(f"{kind}Status", *status)),
    )


def conditions(manner: Manner) -> Field:
    """The field ``conditions`` of a status."""
    f = manner.field
    return f(
        "conditions",
        Array(
            manner.record(
                "Condition",
                f("type", Text(examples=("Ready", "MemoryPressure", "Available", "Progressing")), required=True),
                f("status", Choice(("True", "False", "Unknown")), required=True),
                f("reason", FREE),
                f("message", FREE),
                f("lastTransitionTime", manner.moment),
            ),
            most=20,
        ),
    )


def object_reference(manner: Manner, name: str) -> Record:
    """A reference to another object."""
    f = manner.field
    return manner.record(
        name,
        f("apiVersion", FREE),
        f("kind", Text(examples=("Pod", "Node", "PersistentVolumeClaim"))),
        f("name", NAME),
        f("namespace", LABEL),
        f("uid", FREE),
        f("resourceVersion", Text(Format.DIGITS)),
        f("fieldPath", FREE),
    )


def selector(manner: Manner) -> Record:
    """A label selector."""
    f = manner.field
    expression = manner.record(
        "Requirement",
        f("key", Text(Format.LABEL_KEY), required=True),
        f("operator", Choice(("In", "NotIn", "Exists", "DoesNotExist")), required=True),
        f("values", Array(Text(Format.LABEL_VALUE, most=63), most=8)),
    )
    return manner.record("Selector", f("matchLabels", LABELS), f("matchExpressions", Array(expression, most=8)))
