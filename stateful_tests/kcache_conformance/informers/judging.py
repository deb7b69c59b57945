"""Judgement of a finished run of an informer by the rules."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from kcache_model.informers.broken_rules import broken_rules
from kcache_model.informers.comparing import version_of, versions_of
from kcache_model.informers.program import StepName
from kcache_model.informers.stories import HandlerStory, PipelineStory, ServerStory, Told, ToldKind, Version
from kcache_model.rules import BrokenRule


def what_is_wrong(pipeline: Any) -> BrokenRule | None:
    """Return the first rule that a finished :class:`~.pipeline.Pipeline` broke; ``None`` if it broke no rule."""
    return next(broken_rules(_story(pipeline)), None)


def run_text(pipeline: Any) -> str:
    """Describe a run: the changes of the server, then the calls of each handler."""
    story = _story(pipeline)
    lines = ["the server:"]
    lines += [f"  {version}{' deleted' if is_deletion else ''}" for version, is_deletion in story.server.changes]
    for handler in story.handlers:
        lines.append(f"{handler.name} was told:")
        lines += [f"  {call}" for call in handler.calls] or ["  (nothing)"]
    return "\n".join(lines)


def _story(pipeline: Any) -> PipelineStory:
    """Return a finished run as data, without the features that the informer does not support."""
    story: PipelineStory = pipeline.story
    server, unsupported = pipeline.server, pipeline.unsupported
    steps = {step.name for step in pipeline.program.steps()}
    changes = tuple((version_of(event.object), event.type == "DELETED") for event in server.history())
    first = pipeline.witness.first_list if "is_in_initial_list" not in unsupported else None
    known = frozenset(changes)
    return replace(
        story,
        server=ServerStory(
            changes,
            versions_of(server.snapshot().values()),
            None if first is None else tuple(map(version_of, first)),
            StepName.GO_BACK in steps,
            # After events in the wrong order, a client resumes from the wrong version and receives an event again.
            not steps.isdisjoint((StepName.REPEAT, StepName.SWAP)),
        ),
        handlers=tuple(
            HandlerStory(
                observer.name,
                tuple(_demanded(call, known, unsupported) for call in list(observer.calls)),
                observer.is_first,
                not observer.is_removed and not observer.is_blocked,
                observer.settled_after,
                observer.stopped_after,
                observer.most_calls,
                None if observer.is_removed else observer.synced_after,
            )
            for observer in pipeline.observers
        ),
    )


def _demanded(call: Told, changes: Collection[tuple[Version, bool]], unsupported: frozenset[str]) -> Told:
    """Return the call of a handler without the data that the informer need not pass."""
    is_tombstone = call.is_tombstone
    if call.kind is ToldKind.DELETE and "tombstones" in unsupported:
        is_tombstone = (call.obj, True) not in changes
    return replace(
        call,
        old=None if "old_objects" in unsupported else call.old,
        is_tombstone=is_tombstone,
        stored=None if "store_first" in unsupported else call.stored,
    )
