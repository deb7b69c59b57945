"""The programs that are measured: what two or three threads do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item
from kcache_model.indexers.operations import Operation
from kcache_model.indexers.program import Program

NODE = "node"
TARGETS = Path(__file__).resolve().parent / "targets"
GALLERY = Path(__file__).resolve().parent.parent.parent / "examples" / "targets"

SIMPLE = f"{TARGETS / 'simple_store.py'}:new_indexer"
TEXTBOOK = f"{GALLERY / 'textbook.py'}:new_indexer"
READ_WRITE_LOCK = f"{GALLERY / 'read_write_lock.py'}:new_indexer"


def bug(name: str) -> str:
    """The target with that bug."""
    return f"{TARGETS / 'small_bugs.py'}:{name}"


def item(key: str, stamp: str, value: str) -> Item:
    return Item(key, stamp, {NODE: (value,)})


def program(
    *threads: tuple[Operation, ...], prefix: tuple[Operation, ...] = (op.add(item("a", "v0", "n1")),)
) -> Program:
    return Program((NODE,), prefix, threads)


def reverse(given: Program) -> Program:
    """The same threads, listed the other way round."""
    return replace(given, threads=given.threads[::-1])


def writers_and_readers(threads: int, operations: int) -> Program:
    """Each thread writes and looks up in turn; all of them meet."""
    return program(
        *(
            tuple(
                op.by_index(NODE, f"n{1 + thread % 2}")
                if position % 2
                else op.update(item("a", f"v{thread}{position}", f"n{2 - thread % 2}"))
                for position in range(operations)
            )
            for thread in range(threads)
        )
    )


_MOVE = op.update(item("a", "v1", "n2"))
_LOOK = op.by_index(NODE, "n1")

SMALL_BUGS: dict[str, Program] = {
    "unlocked_add": program((_MOVE,), (op.update(item("a", "v2", "n3")),)),
    "objects_outside_lock": program((op.delete(item("a", "v1", "n1")),), (_LOOK,)),
    "objects_one_by_one": program((_MOVE,), (_LOOK,)),
    "replace_in_two_sections": program((op.replace((item("b", "v1", "n1"),)),), (_LOOK,)),
    "delete_in_two_sections": program((op.delete(item("a", "v1", "n1")),), (op.update(item("a", "v2", "n2")),)),
    "checked_once": program((op.add(item("b", "v1", "n2")),), (op.add(item("c", "v2", "n2")),)),
    "lock_order": program((_MOVE,), (_LOOK,)),
    "broken_read_write_lock": program((_MOVE,), (_LOOK, _LOOK)),
    "lost_wakeup": program((_MOVE,), (op.update(item("a", "v2", "n3")),)),
    "unlocked_list": program((op.delete(item("a", "v1", "n1")),), (op.list_objects(),)),
    "live_keys": program((op.add(item("b", "v1", "n1")),), (op.list_keys(),)),
    "cleared_first": program((op.replace((item("a", "v1", "n1"),)),), (op.get_by_key("a"),)),
}
"""Each small bug, and a program that can show it."""

CONTROLS: tuple[Program, ...] = tuple(dict.fromkeys(SMALL_BUGS.values()))
"""The same programs on the correct store show nothing."""
