"""From what a run showed to what is wrong with it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from kcache.keys import DeletedFinalStateUnknown
from kcache_model.informers.comparing import key_of_object
from kcache_model.informers.program import InformerProgram, StepName
from kcache_model.informers.rules import broken_rules
from kcache_model.informers.stories import HandlerStory, PipelineStory, ServerStory, Told, ToldKind, Version

from .target import INITIAL_LIST, OLD_OBJECTS, STORE_FIRST, TOMBSTONES

_TRANSFORMED = "kcache/transformed"


def what_is_wrong(pipeline: Any, program: InformerProgram, unsupported: frozenset[str]) -> str | None:
    """The first rule that a finished :class:`~.pipeline.Pipeline` broke, in one sentence; ``None`` if it kept all."""
    if pipeline.noticed.wrong_indices:
        return str(pipeline.noticed.wrong_indices[0])
    return next(broken_rules(story_of(pipeline, program, unsupported)), None)


def told_text(pipeline: Any, program: InformerProgram, unsupported: frozenset[str]) -> str:
    """What happened, for people: the server's changes, then what each handler was told."""
    story = story_of(pipeline, program, unsupported)
    lines = ["the server:"]
    lines += [f"  {version}{' deleted' if is_deletion else ''}" for version, is_deletion in story.server.changes]
    for handler in story.handlers:
        lines.append(f"{handler.name} was told:")
        lines += [f"  {told}" for told in handler.told] or ["  (nothing)"]
    return "\n".join(lines)


def story_of(pipeline: Any, program: InformerProgram, unsupported: frozenset[str]) -> PipelineStory:
    """A finished run as data."""
    noticed, server, steps = pipeline.noticed, pipeline.server, {step.name for step in program.steps()}
    changes = tuple((version_of(event.object), event.type == "DELETED") for event in server.history())
    first = pipeline.witness.first_list if INITIAL_LIST not in unsupported else None
    handlers = tuple(
        _handler_story(observer, settled_after, dict.fromkeys(changes), unsupported)
        for observer, settled_after in itertools.zip_longest(pipeline.observers, noticed.told)
    )
    after_stop = tuple(
        str(told)
        for handler, count in zip(handlers, noticed.after_stop or (), strict=False)
        for told in handler.told[count:]
    )
    return PipelineStory(
        ServerStory(
            changes,
            _versions(server.snapshot()),
            None if first is None else tuple(map(version_of, first)),
            StepName.GO_BACK in steps,
            # Who is told in the wrong order goes on from the wrong place, and is told again.
            not steps.isdisjoint((StepName.REPEAT, StepName.SWAP)),
        ),
        handlers,
        None if noticed.store is None else _versions(noticed.store),
        noticed.has_synced,
        noticed.first_sync,
        tuple(noticed.unsynced_handlers),
        noticed.unsettled,
        pipeline.transforms,
        after_stop,
        tuple(noticed.threads_left),
        noticed.open_watches,
        noticed.watches_left,
    )


def version_of(obj: Any) -> Version:
    """What matters of an object."""
    metadata = obj["metadata"]
    version = str(metadata.get("resourceVersion", ""))
    return Version(
        key_of_object(obj),
        str(metadata.get("uid", "no uid")),
        int(version) if version.isdecimal() else 0,
        int(metadata.get("annotations", {}).get(_TRANSFORMED, 0)),
    )


def _versions(objects: Mapping[str, Any]) -> dict[str, Version]:
    return {key: version_of(obj) for key, obj in objects.items()}


def _handler_story(
    observer: Any, settled_after: int | None, changes: Mapping[tuple[Version, bool], None], unsupported: frozenset[str]
) -> HandlerStory:
    told = tuple(_told(noted, changes, unsupported) for noted in list(observer.noted))
    is_complete = not observer.is_removed and not observer.is_blocked
    synced_after = None if observer.is_removed else observer.synced_after
    return HandlerStory(
        observer.name, told, observer.is_first, is_complete, settled_after, observer.most_told, synced_after
    )


def _told(noted: Any, changes: Mapping[tuple[Version, bool], None], unsupported: frozenset[str]) -> Told:
    is_tombstone = isinstance(noted.obj, DeletedFinalStateUnknown)
    version = version_of(noted.obj.obj if is_tombstone else noted.obj)
    kind = ToldKind(noted.kind)
    if kind is ToldKind.DELETE and TOMBSTONES in unsupported:
        is_tombstone = (version, True) not in changes
    return Told(
        kind,
        version,
        None if noted.old is None or OLD_OBJECTS in unsupported else version_of(noted.old),
        noted.is_in_initial_list,
        is_tombstone,
        None if noted.stored is None or STORE_FIRST in unsupported else version_of(noted.stored),
    )
