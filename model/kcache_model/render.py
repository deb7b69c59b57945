"""Operations, outcomes and calls as short text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import singledispatch
from typing import Any

from .history import Call
from .indexers.items import Item, Style, Values
from .indexers.operations import Operation, OperationName
from .outcomes import ErrorKind, Outcome

_LONGEST_NAME = 40
_MOST_VALUES = 12
_MOST_RESULTS = 60


def item_text(item: Item) -> str:
    """``a/x@v3{node: n1}``: key, stamp and index values, as far as there are any."""
    key = "<no key>" if item.key is None else name_text(item.key)
    return f"{key}@{_cut(printable_line(item.stamp))}{_values_text(item.values)}{_extras(item)}"


@singledispatch
def operation_text(operation: object) -> str:
    """The call as Python would write it, with objects as :func:`item_text`."""
    return printable_line(str(operation))


@operation_text.register
def _(operation: Operation) -> str:
    return f"{operation.name.value}({', '.join(_arguments(operation))})"


def outcome_text(outcome: Outcome | None) -> str:
    """What a call gave: a stamp, ``[v1, v2]``, ``None``, or the error."""
    if outcome is None:
        return "(no answer)"
    if outcome.error is not None:
        message = printable_line(outcome.message)
        if outcome.error is ErrorKind.OTHER and message:
            return message
        return f"{outcome.error} error" + (f" ({message})" if message else "")
    if outcome.waits:
        return str(outcome)
    if isinstance(outcome.value, tuple):
        return f"[{_listed(outcome.value)}]"
    return _value_text(outcome.value)


def printable_line(text: str) -> str:
    """As :func:`printable`, in one line."""
    return printable(text).replace("\n", "\\n")


def printable(text: str) -> str:
    """``text`` with control characters escaped: what an implementation says must not steer a terminal."""
    return "".join(
        character if character.isprintable() or character == "\n" else character.encode("unicode_escape").decode()
        for character in text
    )


def call_text(call: Call[Any]) -> str:
    """The call without its outcome; objects without what is of no interest among other calls."""
    return operation_text(_with_items(call.operation, _plain))


def brief_text(operation: object) -> str:
    """As :func:`operation_text`, with objects as ``a@v3``: for sentences."""
    return operation_text(_with_items(operation, _bare))


def name_text(text: str) -> str:
    """``text`` itself if it reads well, else quoted and with escapes; long texts are cut."""
    text = _cut(text)
    plain = text.replace("/", "").replace("-", "").replace("_", "").replace(".", "").replace("=", "")
    return text if plain.isascii() and plain.isalnum() else repr(text)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 3]}..."


@singledispatch
def _with_items(operation: object, _: Callable[[Item], Item]) -> object:
    return operation


@_with_items.register
def _(operation: Operation, change: Callable[[Item], Item]) -> object:
    return operation.with_items(change)


def _bare(item: Item) -> Item:
    return Item(item.key, item.stamp)


def _plain(item: Item) -> Item:
    """Without its style, and without indices where it has no values."""
    values = {index: found for index, found in item.values.items() if found != ()}
    return replace(item, style=Style.PLAIN, values=values)


def _arguments(operation: Operation) -> list[str]:
    if operation.name is OperationName.REPLACE:
        return [f"[{', '.join(item_text(item) for item in operation.items)}]", *_version(operation)]
    if operation.name is OperationName.TRANSACTION:
        return [f"{kind.value} {item_text(item)}" for kind, item in operation.entries]
    if operation.name is OperationName.ADD_INDEXERS:
        return [name_text(name) for name in operation.names]
    if operation.name is OperationName.MUTATE:
        return [name_text(operation.key or ""), _values_text(operation.values or {}) or "{}"]
    texts = [name_text(text) for text in (operation.key, operation.index, operation.value) if text is not None]
    if operation.item is not None:
        texts.append(item_text(operation.item))
    return [*texts, *_version(operation)]


def _version(operation: Operation) -> list[str]:
    return [f"rv={name_text(operation.resource_version)}"] if operation.resource_version else []


def _values_text(values: Values) -> str:
    if not values:
        return ""
    return "{" + ", ".join(f"{name_text(index)}: {_index_text(found)}" for index, found in sorted(values.items())) + "}"


def _index_text(found: tuple[str, ...] | None) -> str:
    if found is None:
        return "<fails>"
    more = f"+{len(found) - _MOST_VALUES} more" if len(found) > _MOST_VALUES else ""
    return "+".join(name_text(value) for value in found[:_MOST_VALUES]) + more if found else "-"


def _extras(item: Item) -> str:
    extras: Mapping[str, str | None] = {
        "rv": item.resource_version,
        "style": None if item.style is Style.PLAIN else item.style.value,
    }
    return "".join(f" {name}={name_text(value)}" for name, value in extras.items() if value is not None)


def _listed(values: tuple[Any, ...]) -> str:
    more = f", and {len(values) - _MOST_RESULTS} more" if len(values) > _MOST_RESULTS else ""
    return ", ".join(map(_value_text, values[:_MOST_RESULTS])) + more


def _value_text(value: Any) -> str:
    return name_text(value) if isinstance(value, str) else printable_line(str(value))
