"""The recorded behaviour of client-go's queues, as programs with their outcomes."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field

from kcache_model.object_types.object_type import RecordedProgram
from kcache_model.outcomes import WAITS, Outcome, raised, returned
from kcache_model.queues import operations as op
from kcache_model.queues.operations import ErrorKind, Operation, Thing, Tombstone, Version
from kcache_model.queues.program import QueueKind, QueueOptions, QueueProgram

from ..indexers.recorded.corpus import recordings
from ..indexers.recorded.objects import Json

FILES = ("edge-queue.jsonl",)
"""The recordings of queues."""

_KINDS = {"fifo": QueueKind.FIFO, "delta": QueueKind.DELTA_FIFO, "real": QueueKind.REAL_FIFO}
_OPTIONS = {
    "knownObjects": "known_objects",
    "emitDeltaTypeReplaced": "emit_delta_type_replaced",
    "transformer": "transformer",
    "atomicEvents": "atomic_events",
    "emitDeltaTypeBookmark": "emit_delta_type_bookmark",
}


def recorded_programs(kind: QueueKind) -> tuple[RecordedProgram, ...]:
    """All recordings of queues of one kind."""
    return tuple(recorded for recorded in _all() if recorded.program.kind is kind)


@functools.cache
def _all() -> tuple[RecordedProgram, ...]:
    return tuple(program for recording in recordings(FILES) for program in _Translator(recording).programs())


@dataclass
class _Queue:
    kind: QueueKind
    options: QueueOptions
    known: tuple[Version, ...]
    steps: list[tuple[Operation, Outcome]] = field(default_factory=list)


class _Translator:
    def __init__(self, recording: Json) -> None:
        self._recording = recording
        self._stored: list[Version] = []
        self._queues: dict[str, _Queue] = {}

    def programs(self) -> Iterator[RecordedProgram]:
        for step in self._recording["steps"]:
            self._translate(step["op"], step.get("args") or {}, step)
        for queue in self._queues.values():
            operations, outcomes = zip(*queue.steps, strict=True) if queue.steps else ((), ())
            program = QueueProgram(queue.kind, queue.options, queue.known, operations)
            yield RecordedProgram(self._recording["id"], self._recording["title"], program, outcomes)

    def _translate(self, name: str, args: Json, step: Json) -> None:
        if name == "newQueue":
            options = QueueOptions(**{ours: bool(args.get(theirs)) for theirs, ours in _OPTIONS.items()})
            known = tuple(self._stored) if options.known_objects else ()
            self._queues[args.get("queue", "q")] = _Queue(_KINDS[args["type"]], options, known)
        elif name == "add":
            stored = _thing(args["obj"])
            assert isinstance(stored, Version)
            self._stored.append(stored)
        elif name.startswith("q."):
            queue = self._queues[args.get("queue", "q")]
            queue.steps += _steps(name.removeprefix("q."), args, step)


def _steps(name: str, args: Json, step: Json) -> Iterator[tuple[Operation, Outcome]]:
    if name == "drain":
        for item in step["result"]:
            yield from _popped(op.pop(applies="applyTo" in args), item)
        return
    if name == "pop":
        pop = op.pop(fails="processError" in args, applies="applyTo" in args)
        if step.get("result") == "wouldBlock":
            yield pop, WAITS
        elif "popped" not in step and "error" in step:
            yield pop, raised(ErrorKind.CLOSED, step["error"])
        else:
            yield from _popped(pop, step.get("popped") or step["result"])
        return
    operation = _operation(name, args)
    yield operation, raised(ErrorKind.KEY_FUNC, step["error"]) if "error" in step else returned(step["result"])


def _operation(name: str, args: Json) -> Operation:
    match name:
        case "add" | "update" | "delete":
            return {"add": op.add, "update": op.update, "delete": op.delete}[name](_thing(args["obj"]))
        case "replace":
            objects = [thing for thing in map(_thing, args["objs"]) if isinstance(thing, Version)]
            return op.replace(*objects, resource_version=args["rv"])
        case "bookmark":
            return op.bookmark(args["rv"])
    simple = {
        "resync": op.resync,
        "close": op.close,
        "isClosed": op.is_closed,
        "hasSynced": op.has_synced,
        "len": op.length,
    }
    return simple[name]()


def _popped(operation: Operation, item: Json) -> Iterator[tuple[Operation, Outcome]]:
    texts = [_delta_text(delta) for delta in item["deltas"]] if "deltas" in item else [_reference_text(item["item"])]
    first = ["initial"] if item["isInInitialList"] else []
    yield operation, returned((*first, *texts, *(["raised"] if operation.fails else [])))
    if "hasSyncedAfter" in item:
        yield op.has_synced(), returned(item["hasSyncedAfter"])


def _delta_text(delta: Json) -> str:
    return f"{delta['type']} {_reference_text(delta['object'])}".rstrip()


def _reference_text(reference: Json) -> str:
    match reference:
        case {"$tombstone": tombstone}:
            return f"tombstone({tombstone['key']}, {tombstone['obj']})"
        case {"$replacedAll": replaced}:
            return f"[{', '.join(replaced['objects'])}] at {replaced['resourceVersion']!r}"
        case {"$syncAll": _}:
            return ""
        case {"$bookmark": version}:
            return str(version)
    return str(reference)


def _thing(literal: Json) -> Thing:
    match literal:
        case {"$tombstone": {"key": key, "obj": obj}}:
            version = None if obj is None else _thing(obj)
            assert not isinstance(version, Tombstone)
            return Tombstone(key, version)
        case {"uid": uid, "name": name}:
            namespace = literal.get("namespace", "")
            return Version(f"{namespace}/{name}" if namespace else name, uid)
    return Version(None, "of what has no key")
