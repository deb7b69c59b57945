"""The queues as object types: their calls, their configurations, and the calls that read the content back."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import fields, replace
from functools import partial
from typing import Any, Final

from kcache_model.codec import Codec
from kcache_model.object_types.object_type import ObjectType
from kcache_model.object_types.vocabulary import OperationTemplate
from kcache_model.outcomes import Outcome
from kcache_model.queues import operations as op
from kcache_model.queues.codec import decode_operation, decode_program, encode_operation, encode_program
from kcache_model.queues.driver import CONSUMER, QueueDriver
from kcache_model.queues.models import model_of
from kcache_model.queues.operations import CallName, Operation, Tombstone, Version
from kcache_model.queues.program import QueueKind, QueueOptions, QueueProgram
from kcache_model.queues.script import script

from .litmus_tests import litmus_tests, usual_ways, ways
from .recorded import recorded_programs
from .target import QueueTarget, make_queue_target

_MOST_LEFT: Final = 40
"""Maximum number of items that are read back."""

_KEYS: Final = ("a", "b", "k")
_SOME_KEYS: Final = (*_KEYS, *_KEYS, *_KEYS, None)
"""One in ten is ``None``: an object that the key function refuses."""
_RARELY: Final = (False,) * 7 + (True,)
_LISTS: Final = ((), ("a",), ("b",), ("a", "b"), ("b", "a"), ("k",), ("a", "a"), ("a", "b", "k", "a"))
_BAD: Final = (None,) * 8 + ("no key", "rejected")
_SMALL: Final = (("a", "b"), (False,))


def _version(number: int, key: str | None, is_rejected: bool = False) -> Version:
    return Version(key, f"{key or 'x'}{number}", is_rejected)


def _tombstone(number: int, key: str, has_object: bool) -> Operation:
    return op.delete(Tombstone(key, _version(number, key) if has_object else None))


def _replacement(number: int, keys: tuple[str, ...], bad: str | None, version: str) -> Operation:
    objects = [Version(key, f"{key}{number}" + "+" * keys[:at].count(key)) for at, key in enumerate(keys)]
    if bad is not None and objects:
        last = objects[-1]
        objects[-1] = replace(last, key=None) if bad == "no key" else replace(last, is_rejected=True)
    return op.replace(*objects, resource_version=version)


VOCABULARY: Final = (
    OperationTemplate("pop", lambda _, fails: op.pop(fails=fails), (_RARELY,), 8, small=((False,),)),
    OperationTemplate("add", lambda at, *of: op.add(_version(at, *of)), (_SOME_KEYS, _RARELY), 3, small=_SMALL),
    OperationTemplate("update", lambda at, *of: op.update(_version(at, *of)), (_SOME_KEYS, _RARELY), 3, small=_SMALL),
    OperationTemplate("delete", lambda at, *of: op.delete(_version(at, *of)), (_SOME_KEYS, _RARELY), 2, small=_SMALL),
    OperationTemplate("delete", _tombstone, (_KEYS, (True, False)), 1, small=(("a",), (True,))),
    OperationTemplate(
        "replace", _replacement, (_LISTS, _BAD, ("", "", "7")), 3, small=(((), ("a",), ("a", "b")), (None,), ("",))
    ),
    OperationTemplate("has_synced", lambda _: op.has_synced(), weight=3),
    OperationTemplate("resync", lambda _: op.resync(), weight=2),
    OperationTemplate("known", lambda _: op.known(), weight=2),
    OperationTemplate("close", lambda _: op.close()),
    OperationTemplate("is_closed", lambda _: op.is_closed()),
    OperationTemplate("len", lambda _: op.length(), is_optional=True),
    OperationTemplate(
        "key_of", lambda at, key: op.key_of(_version(at, key)), (_SOME_KEYS,), is_optional=True, small=(("a",),)
    ),
    OperationTemplate(
        "pop_batch", lambda _, fails: op.pop_batch(fails=fails), (_RARELY,), is_optional=True, small=((False,),)
    ),
    OperationTemplate("bookmark", lambda _: op.bookmark("9"), is_optional=True),
)
"""All calls of a queue."""


def _read_back(program: QueueProgram) -> Generator[Operation, Outcome, None]:  # noqa: ARG001
    yield op.has_synced()
    yield op.known()
    yield op.close()
    for _ in range(_MOST_LEFT):
        popped = yield op.pop()
        if popped.waits or popped.error is not None:
            break
    yield op.known()


def _simpler(operation: Operation) -> Iterator[Operation]:
    for position in range(len(operation.objects)):
        yield replace(operation, objects=operation.objects[:position] + operation.objects[position + 1 :])
    if operation.resource_version and operation.name is CallName.REPLACE:
        yield replace(operation, resource_version="")
    if operation.fails:
        yield replace(operation, fails=False)
    if isinstance(operation.thing, Version) and operation.thing.is_rejected:
        yield replace(operation, thing=replace(operation.thing, is_rejected=False))


def _simpler_ways(program: QueueProgram) -> Iterator[QueueProgram]:
    for position in range(len(program.known)):
        yield replace(program, known=program.known[:position] + program.known[position + 1 :])
    for field in fields(QueueOptions):
        if getattr(program.options, field.name):
            yield replace(program, options=replace(program.options, **{field.name: False}))


_A, _B, _C = Version("a", "a1"), Version("b", "b1"), Version("c", "c1")
_SMOKE: Final[tuple[Operation, ...]] = (
    op.has_synced(),
    op.is_closed(),
    op.replace(_A, _B, resource_version="5"),
    op.length(),
    op.pop(),
    op.pop(),
    op.has_synced(),
    op.add(_C),
    op.update(Version("c", "c2")),
    op.delete(Version("c", "c3")),
    op.pop(),
    op.resync(),
    op.key_of(_A),
    op.bookmark("6"),
    op.update(Version("a", "a2")),
    op.pop_batch(),
    op.close(),
    op.is_closed(),
    *[op.pop()] * 5,
    op.known(),
)


def _never_made(*_: object, **__: object) -> Any:
    raise AssertionError("only asked what it supports")


def _object_type(kind: QueueKind, summary: str, reference: str) -> ObjectType:
    def make_target(factory: Any, name: str) -> QueueTarget:
        return make_queue_target(factory, kind, name)

    return ObjectType(
        name=kind.value,
        summary=summary,
        called="queue",
        reference=reference,
        specification=lambda program: model_of(program.kind, program.options, program.deviations),
        driver=QueueDriver,
        make_target=make_target,
        stand_in=lambda spec, unsupported: QueueTarget(spec, kind, _never_made, unsupported),
        vocabulary=VOCABULARY,
        ways=ways,
        usual_ways=usual_ways,
        smoke=_SMOKE,
        read_back=_read_back,
        litmus_tests=litmus_tests,
        recorded=partial(_recorded, kind),
        has_recordings=True,
        unblock=op.close(),
        owns=lambda program: program.kind is kind,
        is_valid=lambda program: program.is_coherent,
        simpler=_simpler,
        simpler_ways=_simpler_ways,
        codec=Codec(encode_program, decode_program, encode_operation, decode_operation),
        script=script,
        old_prefix="kq1.",
        instrument=(CONSUMER, "kcache.queues"),
    )


def _recorded(kind: QueueKind, target: QueueTarget) -> list[Any]:
    found = [one for one in recorded_programs(kind) if target.allows(one.program.with_calls(()))]
    return [replace(one, program=replace(one.program, deviations=target.deviations)) for one in found]


FIFO = _object_type(QueueKind.FIFO, "the newest object of each key", "kcache.queues:FIFO")
DELTA_FIFO = _object_type(QueueKind.DELTA_FIFO, "changes, grouped by key", "kcache.queues:DeltaFIFO")
REAL_FIFO = _object_type(QueueKind.REAL_FIFO, "changes in the order of their arrival", "kcache.queues:RealFIFO")
