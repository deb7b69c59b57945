"""Rules that every informer keeps, whatever its server and its network do.

The guarantees are those of client-go's ``SharedInformer``. When nothing happens any more, the store equals the content
of the server. Each handler got there, object by object, through real states of the object in their order. The store was
never behind the handlers. An informer may leave out intermediate states (client-go#571).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..rules import BrokenRule
from .stories import HandlerStory, PipelineStory, ServerStory, Told, ToldKind, Version


def broken_rules(story: PipelineStory) -> Iterator[BrokenRule]:
    """Yield the broken rules of a run, each with one sentence, the most informative first."""
    for text in story.wrong_indices:
        yield BrokenRule("wrong-index", text)
    for handler in story.handlers:
        yield from _sequence(handler, story.server)
    yield from _synced_early(story)
    if story.store is not None:
        yield from _content("store-differs", "the store", story.store, story.server.content)
        for handler in story.handlers:
            if handler.is_complete:
                known = known_after(handler.calls[: handler.settled_after])
                yield from _content("handlers-differ", handler.name, known, story.server.content)
        if not story.has_synced:
            yield BrokenRule("never-synced", "everything has settled, but has_synced() is false")
    for name in story.unsynced_handlers:
        yield BrokenRule(
            "never-synced", f"everything has settled, but has_synced() of the registration of {name} is false"
        )
    if story.unsettled is not None:
        yield BrokenRule(
            "never-settles",
            f"nothing happened for a long time, but {story.unsettled} did not reach the state of the server",
        )
    for handler in story.handlers:
        yield from _initial_list(handler, story.server)
        yield from _transformed(handler, story.transforms)
    for handler in story.handlers:
        if handler.stopped_after is not None:
            for call in handler.calls[handler.stopped_after :]:
                yield BrokenRule("told-after-end", f"a handler was called after stop() had returned: {call}")
    for handler in story.handlers:
        most = handler.most_calls
        if most is not None and len(handler.calls) > most:
            yield BrokenRule(
                "told-after-end", f"{handler.name} was called after it had been removed: {handler.calls[most]}"
            )
    if story.open_watches > 1:
        yield BrokenRule(
            "watches-overlap", f"when everything has settled, {story.open_watches} watches are open at once"
        )
    if story.watches_left:
        yield BrokenRule("leak", f"watches still open after stop(): {story.watches_left}")
    if story.threads_left:
        yield BrokenRule("leak", f"threads still run after stop(): {', '.join(story.threads_left)}")


def known_after(calls: Sequence[Told]) -> dict[str, Version]:
    """Return the objects, by key, that exist according to these calls of a handler."""
    known: dict[str, Version] = {}
    for call in calls:
        if call.kind is ToldKind.DELETE:
            known.pop(call.obj.key, None)
        else:
            known[call.obj.key] = call.obj
    return known


def _sequence(handler: HandlerStory, server: ServerStory) -> Iterator[BrokenRule]:
    """Check that each call is consistent with earlier calls and reports a real change; stop at the first fault."""
    happened = set(server.changes)
    known: dict[str, Version] = {}
    newest: dict[str, int] = {}
    for number, call in enumerate(handler.calls, 1):
        where = f"{handler.name}, call {number}: {call}"
        key, before = call.obj.key, known.get(call.obj.key)
        rule, wrong = "event-out-of-turn", _out_of_turn(call, before, server)
        if wrong is None and not call.is_tombstone and (call.obj, call.kind is ToldKind.DELETE) not in happened:
            wrong = "the server never had that version"
        if wrong is None and not server.went_back:
            if call.obj.resource_version < newest.get(key, 0):
                rule, wrong = "version-went-back", f"version {newest[key]} came before it"
            else:
                rule, wrong = "store-behind-handler", _store_behind(call)
        if wrong is not None:
            yield BrokenRule(rule, f"{where}: {wrong}")
            return
        newest[key] = max(newest.get(key, 0), call.obj.resource_version)
        if call.kind is ToldKind.DELETE:
            known.pop(key, None)
        else:
            known[key] = call.obj


def _out_of_turn(call: Told, before: Version | None, server: ServerStory) -> str | None:
    match call.kind:
        case ToldKind.ADD if before is not None:
            return f"{before} had already been reported"
        case ToldKind.UPDATE if before is None:
            return "the addition of this object had not been reported"
        case ToldKind.UPDATE if call.old is not None and call.old != before:
            return f"the old object is not the one that had been reported: {before}"
        case ToldKind.DELETE if before is None:
            return None if server.repeated else "this object had not been reported"
        case ToldKind.DELETE if call.is_tombstone and call.obj != before:
            return f"the tombstone does not hold the last state that had been reported: {before}"
        case ToldKind.DELETE if before is not None and call.obj.uid != before.uid:
            return f"another object had been reported: {before}"
        case ToldKind.DELETE if call.is_tombstone and not server.went_back and not _was_deleted(call.obj, server):
            return "the server never deleted that object"
    return None


def _was_deleted(version: Version, server: ServerStory) -> bool:
    return any(is_deletion and change.uid == version.uid for change, is_deletion in server.changes)


def _store_behind(call: Told) -> str | None:
    """The fault if the store was behind a call: the store must change before the call, and may be further ahead."""
    stored, obj = call.stored, call.obj
    if stored is None:
        return None
    if call.kind is ToldKind.DELETE:
        is_behind = stored.uid == obj.uid and stored.resource_version <= obj.resource_version
    else:
        is_behind = stored.resource_version < obj.resource_version
    return f"the store still showed {stored}" if is_behind else None


def _content(
    rule: str, who: str, observed: Mapping[str, Version], content: Mapping[str, Version]
) -> Iterator[BrokenRule]:
    for key in sorted({*observed, *content}):
        if key not in observed:
            yield BrokenRule(rule, f"when everything has settled, {who} lacks {content[key]}")
        elif key not in content:
            yield BrokenRule(
                rule, f"when everything has settled, {who} still has {observed[key]}, but the server does not"
            )
        elif observed[key] != content[key]:
            yield BrokenRule(
                rule, f"when everything has settled, {who} has {observed[key]}, but the server has {content[key]}"
            )


def _synced_early(story: PipelineStory) -> Iterator[BrokenRule]:
    """Check that the store had all objects of the first list when ``has_synced()`` was first true."""
    sync = story.first_sync
    if sync is None:
        return
    if sync.listed is None:
        if not sync.was_watched:
            yield BrokenRule("synced-early", "has_synced() was true before the first list")
    elif not story.server.went_back:
        lacking = [key for key in sync.listed if key not in sync.stored and key not in sync.deleted]
        if lacking:
            yield BrokenRule("synced-early", f"has_synced() was true before the store had {lacking[0]}")


def _initial_list(handler: HandlerStory, server: ServerStory) -> Iterator[BrokenRule]:
    """Check the calls of a handler that was added before the start against the first list of the server.

    The flag ``is_in_initial_list`` must be right. When the registration of the handler first says that it has synced,
    the handler must have got all objects of that list.
    """
    if server.first_list is None:
        return
    if handler.is_first:
        # A queue that groups changes by key may hand out later changes of a listed object together with it.
        listed, keys = set(server.first_list), {version.key for version in server.first_list}
        for call in handler.calls:
            if call.kind is ToldKind.ADD and call.is_in_initial_list and call.obj.key not in keys:
                yield BrokenRule(
                    "wrong-initial-list", f"{handler.name}: {call}: the object was not in the initial list"
                )
                return
            if call.kind is ToldKind.ADD and not call.is_in_initial_list and call.obj in listed:
                yield BrokenRule("wrong-initial-list", f"{handler.name}: {call}: the object was in the initial list")
                return
    if handler.synced_after is not None and handler.is_first:
        reported = {call.obj.key for call in handler.calls[: handler.synced_after]}
        for version in server.first_list:
            if version.key not in reported:
                text = (
                    f"{handler.name}: has_synced() of its registration was true after {handler.synced_after} calls, "
                    f"before {version} was reported"
                )
                yield BrokenRule("synced-early", text)
                return


def _transformed(handler: HandlerStory, transforms: bool) -> Iterator[BrokenRule]:
    for call in handler.calls:
        for version in (call.obj, call.old):
            if version is not None and version.transformed != transforms:
                text = f"{handler.name}: {call}: the transformer was applied {version.transformed} times, not once"
                yield BrokenRule("not-transformed-once", text)
                return
