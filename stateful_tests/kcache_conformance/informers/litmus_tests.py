"""Litmus tests of informers: small programs, each designed for a class of faults that informers have had."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kcache_model.informers.program import InformerProgram, Step, StepName


def _program(before: str, *threads: str, **options: Any) -> InformerProgram:
    return InformerProgram(_steps(before), tuple(map(_steps, threads)), **options)


def _steps(text: str) -> tuple[Step, ...]:
    words = [step.split() for step in text.split(", ") if step]
    return tuple(Step(StepName(name), *(int(word) if word.isdecimal() else word for word in of)) for name, *of in words)


SEQUENTIAL: Final[Mapping[str, InformerProgram]] = {
    "changes": _program("create a", "settle, update a, create b, delete a, create a, update b", handlers=2),
    "missed deletion": _program("create a, create b", "settle, miss, delete a"),
    "missed deletion of the last object": _program("create a", "settle, miss, delete a"),
    "missed update": _program("create a, create b", "settle, miss, update a"),
    "missed everything": _program("create a, create b", "settle, miss, delete a, update b, create c, settle, update c"),
    "recreated unseen": _program("create a", "settle, miss, recreate a, settle"),
    "recreated": _program("create a", "settle, recreate a, update a"),
    "nothing there": _program("", "settle, create a"),
    "watch ends": _program("create a", "settle, cut, update a, cut, create b, delete a"),
    "watch ends after much": _program(
        "create a", "settle, update a, update a, create b, delete b, settle, cut, settle"
    ),
    "history forgotten": _program("create a", "settle, update a, expire, create b, settle, expire, delete b"),
    "expired watches refused": _program(
        "create a, refuse_expired", "settle, update a, miss, delete a, create b, settle"
    ),
    "lists refused": _program("create a, refuse_lists 2", "create b, settle, refuse_lists 1, miss, delete a"),
    "watches refused": _program("create a, refuse_watches 2", "create b, settle, refuse_watches 1, cut, delete a"),
    "too large": _program("create a", "settle, too_large, miss, delete a, create b, settle, update b"),
    "reported twice": _program("", "settle, create a, repeat, update a, repeat, delete a, repeat, create b"),
    "reported in another order": _program("create a", "settle, swap a, settle, swap b, cut, delete b, delete a"),
    "bookmarks": _program("create a", "settle, bookmark, cut, create b, bookmark, delete a"),
    "back in time": _program("create a, update a, create b, go_back 2", "create c, settle, delete a"),
    "late handler": _program("create a", "settle, add_handler, create b, await_handler_sync 1, delete a"),
    "late handler after missed events": _program(
        "create a, create b", "settle, miss, delete a, update b, settle, add_handler"
    ),
    "handler synced": _program("create a, create b", "await_handler_sync 0, delete a"),
    "slow handler": _program("create a", "block_handler 0, update a, create b, settle, release_handler 0", handlers=2),
    "handler that raises": _program("create a", "settle, fail_handler 0, update a, settle, create b, delete a"),
    "handler removed": _program(
        "create a", "settle, remove_handler 0, remove_handler 0, settle, create b, settle", handlers=2
    ),
    "index added": _program("create a", "settle, add_indexers, create b, create a, create b, delete a"),
    "transformer": _program("create a", "settle, update a, create b, settle, miss, delete a", transforms=True),
    "transformer and resync": _program("create a", "settle, create b, settle", transforms=True, resync_seconds=15),
}
"""Programs with one thread; only the informer's own threads are concurrent with it."""

CONCURRENT: Final[Mapping[str, InformerProgram]] = {
    "stop during anything": _program("create a", "update a", "stop"),
    "stop during a list that fails": _program("create a, refuse_lists 1", "", "stop"),
    "stop twice": _program("create a", "stop", "stop"),
    "stop and relist": _program("create a", "expire", "stop"),
    "handler added during events": _program("create a", "update a, create b", "add_handler", handlers=0),
    "handler added during a relist": _program("create a", "miss, delete a, create b, cut", "add_handler", handlers=0),
    "handler added during stop": _program("create a", "stop", "add_handler", handlers=0),
    "handler removed during events": _program("create a", "update a", "remove_handler 0"),
    "handler synced during events": _program("create a", "delete a", "await_handler_sync 0"),
    "index added during events": _program("create a", "create b, delete a", "add_indexers", handlers=0),
    "watch ends during events": _program("create a", "delete a, create b", "cut", handlers=0),
    "history forgotten during events": _program("create a", "delete a, create b", "expire", handlers=0),
    "resync during events": _program("create a", "delete a, create b", resync_seconds=15),
}
"""Programs with several concurrent threads."""

CROWDED: Final[Mapping[str, InformerProgram]] = {
    "handler added beside others during events": _program("create a", "update a, create b", "add_handler", handlers=2),
    "handler added beside another during a relist": _program(
        "create a", "miss, delete a, create b, cut", "add_handler"
    ),
}
"""Programs with so many concurrent threads that only samples of their interleavings can be tried. An informer that
calls its handlers one after another may be preempted between two handlers."""
