"""The contract of a queue under test, and the declarations of an implementation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, TypeAlias

from kcache_model.errors import TargetError
from kcache_model.outcomes import error_text
from kcache_model.queues.consumer import Consumer
from kcache_model.queues.operations import CallName, Operation, Thing, Tombstone
from kcache_model.queues.program import Deviation, QueueKind, QueueOptions, QueueProgram
from kcache_model.queues.reading import key_func

QueueFactory: TypeAlias = Callable[..., Any]
"""``factory(key_func, **options)``; the options are keywords, and only the options in use are passed."""

TOMBSTONES: Final = "tombstones"
"""Declared as unsupported by a queue whose ``delete`` takes no tombstones."""

_OPTIONS: Final[Mapping[QueueKind, frozenset[str]]] = {
    QueueKind.FIFO: frozenset(),
    QueueKind.DELTA_FIFO: frozenset({"known_objects", "emit_delta_type_replaced", "transformer"}),
    QueueKind.REAL_FIFO: frozenset({"known_objects", "transformer", "atomic_events", "emit_delta_type_bookmark"}),
}

_REQUIRED: Final = ("add", "update", "delete", "replace", "resync", "pop", "close", "is_closed", "has_synced")

_OPTIONAL: Final[Mapping[QueueKind, frozenset[str]]] = {
    QueueKind.FIFO: frozenset({"len", "key_of"}),
    QueueKind.DELTA_FIFO: frozenset({"len", "key_of"}),
    QueueKind.REAL_FIFO: frozenset({"len", "key_of", "bookmark", "pop_batch"}),
}

_MAY_BE_MISSING: Final = frozenset({"resync", "is_closed", "has_synced", TOMBSTONES})

_FAILURES: Final[Mapping[str, Callable[[Operation], bool]]] = {
    "failing_key_functions": lambda operation: any(thing.key is None for thing in _objects_of(operation)),
    "failing_transformers": lambda operation: any(
        getattr(thing, "is_rejected", False) for thing in _objects_of(operation)
    ),
    "failing_process": lambda operation: operation.fails,
}
"""Declaration -> whether a call makes a function of the user fail; with the declaration, the call is left out."""

DECLARATIONS: Final = frozenset({*_FAILURES, *map(str, Deviation)})
"""Deviations that a queue of any kind may declare; they are not reported, and the run continues with other faults."""


@dataclass(frozen=True)
class QueueTarget:
    """A factory of queues with its name and its declarations.

    Attributes:
        name: its name in reports.
        kind: the kind of queue that the factory claims to create.
        factory: creates a new, empty queue.
        unsupported: options, calls and features that it does not support; they are not tested.
    """

    name: str
    kind: QueueKind
    factory: QueueFactory
    unsupported: frozenset[str] = frozenset()

    def supports(self, feature: str) -> bool:
        """Whether an option, a call or a feature is to be tested."""
        known = _OPTIONS[self.kind] | _OPTIONAL[self.kind] | set(_REQUIRED)
        if feature == TOMBSTONES:
            return self.kind is not QueueKind.FIFO and feature not in self.unsupported
        return feature not in self.unsupported and (feature in known or feature == CallName.KNOWN.value)

    @property
    def deviations(self) -> tuple[Deviation, ...]:
        """The declared deviations; the outcomes that they concern are not compared."""
        return tuple(deviation for deviation in Deviation if deviation in self.unsupported)

    def allows(self, program: QueueProgram) -> bool:
        """Whether the target supports all options and calls of a program."""
        options = (field.name for field in fields(QueueOptions) if getattr(program.options, field.name))
        return all(map(self.supports, options)) and all(map(self.allows_call, program.operations()))

    def allows_call(self, operation: Operation) -> bool:
        """Whether the target supports the operation of a call and its arguments."""
        if any(fails(operation) for name, fails in _FAILURES.items() if name in self.unsupported):
            return False
        is_about_tombstone = isinstance(operation.thing, Tombstone)
        return self.supports(operation.name.value) and (not is_about_tombstone or self.supports(TOMBSTONES))


def make_queue_target(
    factory: QueueFactory | QueueTarget,
    kind: QueueKind,
    name: str | None = None,
    unsupported: Iterable[str] | None = None,
) -> QueueTarget:
    """Create a target; its declarations are ``unsupported`` or, by default, the factory's ``kcache_unsupported``.

    The factory is called once, to find the optional calls that its queue lacks.

    Raises:
        TargetError: the factory is no factory of queues, or a declaration is wrong; the message describes the problem.
    """
    if isinstance(factory, QueueTarget):
        return factory
    name = name or str(getattr(factory, "__qualname__", repr(factory)))
    if not callable(factory):
        raise TargetError(f"{name} is a {type(factory).__name__}; a queue needs a factory: {_signature(kind)}")
    declared = getattr(factory, "kcache_unsupported", ()) if unsupported is None else unsupported
    if isinstance(declared, str):
        raise TargetError(f'kcache_unsupported must be a list of names, not the text "{declared}"')
    known = _OPTIONS[kind] | _OPTIONAL[kind] | _MAY_BE_MISSING | DECLARATIONS
    unknown = set(declared) - known.union(*_OPTIONS.values(), *_OPTIONAL.values())  # of one queue of several kinds
    if unknown:
        listed = ", ".join(sorted(known))
        raise TargetError(f"kcache_unsupported names {', '.join(sorted(map(str, unknown)))}; known are: {listed}")
    target = QueueTarget(name, kind, factory, known & set(declared))
    if kind is QueueKind.REAL_FIFO and not (target.supports("known_objects") or target.supports("atomic_events")):
        raise TargetError("a real-fifo needs known_objects or atomic_events: it cannot declare both as unsupported")
    _require_options(target)
    return _probed(target)


def plain_options(target: QueueTarget) -> QueueOptions:
    """The minimal options that a queue needs."""
    if target.kind is not QueueKind.REAL_FIFO:
        return QueueOptions()
    return QueueOptions(known_objects=True) if target.supports("known_objects") else QueueOptions(atomic_events=True)


def _objects_of(operation: Operation) -> tuple[Thing, ...]:
    return operation.objects if operation.thing is None else (operation.thing, *operation.objects)


def _signature(kind: QueueKind) -> str:
    return f"factory({', '.join(['key_func', *(['*'] if _OPTIONS[kind] else []), *sorted(_OPTIONS[kind])])}) -> queue"


def _require_options(target: QueueTarget) -> None:
    try:
        signature = inspect.signature(target.factory)
    except (TypeError, ValueError):
        return
    options = {name: None for name in sorted(_OPTIONS[target.kind]) if target.supports(name)}
    try:
        signature.bind(None, **options)
    except TypeError:
        missing = [name for name in options if not _takes(signature, name)]
        hint = f"; add {', '.join(missing)}, or declare factory.kcache_unsupported = {missing!r}" if missing else ""
        raise TargetError(f"the factory takes {signature}; it is called as {_signature(target.kind)}{hint}") from None


def _takes(signature: inspect.Signature, name: str) -> bool:
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    return name in signature.parameters or inspect.Parameter.VAR_KEYWORD in kinds


def _probed(target: QueueTarget) -> QueueTarget:
    """Return the target; optional calls that its queue does not have are added to ``unsupported``."""
    options = plain_options(target)
    arguments: dict[str, Any] = {"known_objects": Consumer({})} if options.known_objects else {}
    if options.atomic_events:
        arguments["atomic_events"] = True
    try:
        queue = target.factory(key_func, **arguments)
    except (Exception, SystemExit) as error:
        why = f"{target.name}(key_func) raised {error_text(error)}; it must return a new, empty queue"
        raise TargetError(why) from error
    missing = [name for name in _REQUIRED if target.supports(name) and not callable(getattr(queue, name, None))]
    if missing:
        optional = [name for name in missing if name in _MAY_BE_MISSING]
        hint = f", or declare factory.kcache_unsupported = {optional!r}" if optional == missing else ""
        raise TargetError(
            f"the {type(queue).__name__} that {target.name} returned has no {', '.join(missing)}; implement what is "
            f"missing{hint}"
        )
    names = {"len": "__len__"}
    absent = {name for name in _OPTIONAL[target.kind] if not hasattr(queue, names.get(name, name))}
    return replace(target, unsupported=target.unsupported | absent)
