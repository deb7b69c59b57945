"""Texts of a target, made fit to be shown."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch

from kcache_model.indexers.items import Item
from kcache_model.indexers.operations import Operation
from kcache_model.render import printable

LONGEST_TEXT = 2_000
_LONGEST_IN_RENDER = 40
"""Longer names are cut by ``str``; a page has room for them."""

_MOST_ARGUMENTS = 100


def shown(text: str) -> str:
    """``text`` without control characters and lone surrogates, and not longer than anybody reads."""
    if len(text) > LONGEST_TEXT:
        text = f"{text[:LONGEST_TEXT]}... ({len(text) - LONGEST_TEXT} more characters)"
    return printable(text)


def sentences(*texts: str) -> str:
    """One after another, each with a full stop; empty texts are left out."""
    return " ".join(text if text[-1] in ".!?" else f"{text}." for text in texts if text)


def tick_text(tick: int) -> str:
    """A moment, or how long something took, in ticks of the clock of the history."""
    try:
        return f"{tick:,}"
    except ValueError:  # Python refuses to write out integers of several thousand digits
        return "a very large number"


def argument_texts(operation: object) -> tuple[tuple[str, str], ...]:
    """(name, text) of each argument, in full."""
    found = list(_arguments(operation))
    cut = found[:_MOST_ARGUMENTS]
    if len(found) > len(cut):
        cut.append(("and", f"{len(found) - len(cut)} more"))
    return tuple((name, shown(text)) for name, text in cut)


@singledispatch
def _arguments(operation: object) -> Iterator[tuple[str, str]]:
    """Nothing: the text of a call says it all, but for Indexers, whose objects it shortens."""
    del operation
    return iter(())


@_arguments.register
def _(operation: Operation) -> Iterator[tuple[str, str]]:
    for name, text in (("key", operation.key), ("index", operation.index), ("value", operation.value)):
        if text is not None:
            yield name, _quoted(text)
    if operation.item is not None:
        yield from _item("object", operation.item)
    for number, item in enumerate(operation.items, 1):
        yield from _item(f"object {number}", item)
    for number, (kind, item) in enumerate(operation.entries, 1):
        yield from _item(f"{number}. {kind.value}", item)
    for name in operation.names:
        yield "index", _quoted(name)
    for index, values in (operation.values or {}).items():
        yield (
            f"values of {index}",
            "the function fails" if values is None else ", ".join(map(_quoted, values)) or "none",
        )
    if operation.resource_version:
        yield "resource version", _quoted(operation.resource_version)


def _item(name: str, item: Item) -> Iterator[tuple[str, str]]:
    yield name, str(item)
    if item.key is not None and len(item.key) > _LONGEST_IN_RENDER:
        yield f"key of {name}", _quoted(item.key)
    for index, values in item.values.items():
        for value in values or ():
            if len(value) > _LONGEST_IN_RENDER:
                yield f"value of {name} under {index}", _quoted(value)


def _quoted(text: str) -> str:
    return text if text.isprintable() and text.strip() == text and text else repr(text)
