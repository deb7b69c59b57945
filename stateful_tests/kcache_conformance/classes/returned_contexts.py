"""Methods that return an object for a ``with`` block: nothing happens before the block begins, so it is entered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from kcache_model.object_types.method_call import Form
from kcache_model.object_types.vocabulary import OperationTemplate

from .public_calls import PublicCall
from .sparing import Sparing

_BLOCKS = (("__enter__", "__exit__", False), ("__aenter__", "__aexit__", True))
"""The methods of an object for a block, and whether the block is asynchronous."""


def with_blocks(
    calls: Sequence[PublicCall], templates: Iterable[OperationTemplate], tries: Sparing, *, is_async: bool
) -> list[PublicCall]:
    """Return the calls; those that return an object that is good for nothing but a block as the two ends of that block.

    An object with further methods, such as a connection, is left as it is.

    Args:
        calls: the calls of a class.
        templates: their vocabulary.
        tries: makes calls, as long as there is time.
        is_async: whether the calls are awaited, so that blocks may be asynchronous.
    """
    blocks: dict[str, bool] = {}
    for template in templates:
        call = next(template.smallest(0))
        if call.form is Form.CALL and not (call.needs or call.is_async):
            kind = type(tries.result((call,)))
            for awaited in _blocks_of(kind):
                enter = replace(call, name=_enter(call.name), form=Form.ENTER, is_async=awaited)
                if (is_async or not awaited) and tries((enter,)).error is None:  # a proxy may have nothing to enter
                    blocks[call.name] = awaited
    return [part for call in calls for part in _parts(call, blocks)]


def _blocks_of(kind: type) -> Iterator[bool]:
    """Yield whether the block of an object is asynchronous; nothing if it is no object for blocks alone."""
    if any(not name.startswith("_") and callable(getattr(kind, name, None)) for name in dir(kind)):
        return
    for enter, leave, is_async in _BLOCKS:
        if hasattr(kind, enter) and hasattr(kind, leave):
            yield is_async


def _enter(name: str) -> str:
    return f"{name}.enter"


def _parts(call: PublicCall, blocks: dict[str, bool]) -> Iterator[PublicCall]:
    if call.name not in blocks:
        yield call
        return
    yield replace(call, name=_enter(call.name), form=Form.ENTER, is_async=blocks[call.name])
    yield PublicCall(f"{call.name}.exit", Form.EXIT, is_async=blocks[call.name])
