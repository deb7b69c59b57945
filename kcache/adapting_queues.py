"""Adapters for queues whose methods differ from client-go's: they call such queues through client-go's methods.

from kcache.adapting_queues import adapt_queue     # kcache.testing exports it as well, but imports the whole harness

new_queue = adapt_queue(MyQueue)                   # kcache check --type delta-fifo mypackage.queues:new_queue

An adapter has no lock of its own. Each of its operations is one call of the queue. If any of its methods is ``async
def``, all run in an event loop: plain methods rely on nothing else running there meanwhile.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from .adapting import packages_of
from .adapting_calls import name_of, names_of
from .adapting_loop import AdapterLoop, settled

SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = {
    "add": ("put", "push", "enqueue", "on_add"),
    "update": ("on_update", "put", "push", "enqueue"),
    "delete": ("remove", "discard", "on_delete"),
    "replace": ("replace_all", "reset"),
    "resync": ("sync",),
    "pop": ("consume", "process_next", "process_one"),
    "close": ("shutdown", "shut_down", "stop"),
    "is_closed": ("closed", "is_shut_down"),
    "has_synced": ("synced", "is_synced"),
    "key_of": ("get_key",),
    "bookmark": (),
    "pop_batch": (),
    "len": ("__len__", "size", "qsize"),
}
"""Operation -> other usual names of its method."""

OPTIONS: Final = (
    "known_objects",
    "emit_delta_type_replaced",
    "transformer",
    "atomic_events",
    "emit_delta_type_bookmark",
)
"""The keyword arguments of a queue factory."""

_MAY_BE_MISSING: Final = frozenset({"resync", "is_closed", "has_synced", "key_of", "bookmark", "pop_batch", "len"})


def adapt_queue(
    make: Callable[..., Any],
    *,
    unsupported: Iterable[str] = (),
    options: Mapping[str, str] | None = None,
    **operations: str | Callable[..., Any],
) -> AdaptedQueueFactory:
    """Return a factory ``new_queue(key_func, **options)`` of queues that are called as if they were client-go's.

    If an operation is not an argument, its method is searched for: first under the name of the operation
    (``has_synced``, ``hasSynced``), then under synonyms (``put``, ``remove``, ``shutdown`` ...). Options are passed
    under the parameter names of ``make``. Operations and options that the queue lacks are declared as unsupported and
    not tested.

    Args:
        make: the class of the queues, or a function that creates a queue. It receives the key function if its first
            parameter is no option.
        unsupported: names for ``kcache_unsupported``, in addition to the missing operations and options: operations,
            options, and behaviour that differs, such as ``initial_list`` or ``writes_after_close``.
        options: option -> the name of the parameter of ``make`` for it.
        operations: ``add``, ``update``, ``delete``, ``replace``, ``resync``, ``pop``, ``close``, ``is_closed``,
            ``has_synced``, ``key_of``, ``bookmark``, ``pop_batch``, ``len``. Each is the name of a method or an
            attribute, or a function ``(queue, ...)`` with the arguments of client-go's method. If the queue calls
            ``process`` with the item alone, the item does not count as part of the first list; declare
            ``initial_list`` as unsupported.

    Returns:
        The factory; bind it to a name of your module, so that kcache can load it as ``module:name``.

    Raises:
        TypeError: an argument cannot be used; the message says what to do.
    """
    if isinstance(unsupported, str):
        raise TypeError(f'unsupported must be a list of names, not the text "{unsupported}"')
    unknown = [name for name in operations if name not in SYNONYMS] + [
        one for one in options or () if one not in OPTIONS
    ]
    if unknown:
        known = ", ".join((*SYNONYMS, *OPTIONS))
        raise TypeError(f"unknown operation or option {', '.join(unknown)}; known are: {known}")
    caller = sys._getframe(1)
    importer = caller.f_builtins["__import__"]  # the user's, which the explorer controls
    return AdaptedQueueFactory(
        make, frozenset(unsupported), dict(options or {}), operations, caller.f_globals, importer
    )


class AdaptedQueueFactory:
    """The result of :func:`adapt_queue`: ``factory(key_func, **options) -> queue``, with the declarations of a target.

    Attributes:
        kcache_instrument: the package of the class, which the explorer instruments.
    """

    def __init__(
        self,
        make: Callable[..., Any],
        unsupported: frozenset[str],
        options: Mapping[str, str],
        operations: Mapping[str, str | Callable[..., Any]],
        namespace: Mapping[str, Any],
        importer: Callable[[str], Any],
    ) -> None:
        self._importer = importer
        self._make, self._operations, self._unsupported = make, operations, unsupported
        self._classes: dict[type, type[_AdaptedQueue]] = {}
        self._takes_key_func, self._options = _taken(make, options)
        self.__module__ = namespace.get("__name__", "__main__")
        self.__doc__ = f"``{name_of(make)}`` as a queue of client-go's shape."
        self.__qualname__ = f"<adapted {name_of(make)}>"
        self.kcache_instrument = packages_of(make, self.__module__)

    @property
    def kcache_unsupported(self) -> list[str]:
        """Names of the features that are not tested: those that the queue lacks, and those that the user declared."""
        lacking = {name for name in OPTIONS if name not in self._options}
        try:
            queue = self(str)
        except Exception:  # the next call of the factory raises the error again, where it is reported
            return sorted(self._unsupported | lacking)
        absent = {name for name in _MAY_BE_MISSING if not hasattr(queue, "__len__" if name == "len" else name)}
        return sorted(self._unsupported | lacking | absent)

    def __call__(self, key_func: Callable[[Any], str], **options: Any) -> Any:
        """Return a new queue.

        Raises:
            TypeError: a named method does not exist, or the queue lacks a required operation.
            Exception: any error that ``make`` raises.
        """
        arguments = {self._options[name]: value for name, value in options.items()}
        queue = self._make(key_func, **arguments) if self._takes_key_func else self._make(**arguments)
        if type(queue) not in self._classes:
            self._classes[type(queue)] = _class_for(queue, self._operations, self._unsupported)
        return self._classes[type(queue)](queue, self._importer)

    def __repr__(self) -> str:
        return f"adapt_queue({name_of(self._make)})"


class _AdaptedQueue:
    """A queue behind client-go's methods. Each class of queues gets its own subclass with the methods it supports."""

    is_async: bool

    def __init__(self, queue: Any, importer: Callable[[str], Any]) -> None:
        self._queue, self._importer = queue, importer
        self._loops = {0: AdapterLoop(importer)} if self.is_async else dict[int, AdapterLoop]()

    def _settled(self, function: Callable[..., Any], *arguments: Any) -> Any:
        result = _called(function, arguments) if self.is_async else function(*arguments)
        return settled(result, self._loops, self._importer)


async def _called(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    result = function(*arguments)
    return await result if inspect.isawaitable(result) else result


def _class_for(
    queue: Any, operations: Mapping[str, str | Callable[..., Any]], spared: frozenset[str]
) -> type[_AdaptedQueue]:
    methods: dict[str, Any] = {"is_async": False}
    for name in SYNONYMS:
        source = operations.get(name) or next(
            (method for other in (name, *SYNONYMS[name]) for method in names_of(other) if hasattr(queue, method)),
            "",
        )
        if isinstance(source, str) and source and not hasattr(queue, source):
            raise TypeError(f"{name_of(type(queue))} has no method {source} for {name}")
        if source:
            function = getattr(queue, source, None) if isinstance(source, str) else source
            methods["is_async"] |= inspect.iscoroutinefunction(function)
            methods["__len__" if name == "len" else name] = _method(name, source)
        elif name not in _MAY_BE_MISSING | spared:
            raise TypeError(
                f"{name_of(type(queue))} has no known method for {name}; name its method: adapt_queue(..., {name}=...)"
            )
    kind: type[_AdaptedQueue] = type(
        "AdaptedQueue", (_AdaptedQueue,), {**methods, "__module__": type(queue).__module__}
    )
    kind.__qualname__ = type(queue).__qualname__  # reports name the queue
    return kind


def _method(operation: str, source: str | Callable[..., Any]) -> Callable[..., Any]:
    def call(queue: Any, *arguments: Any) -> Any:
        if callable(source):
            return source(queue, *arguments)
        attribute = getattr(queue, source)
        return attribute(*arguments) if callable(attribute) else attribute

    if operation == "pop":
        return lambda self, process: self._settled(
            call, self._queue, lambda item, *first: process(item, bool(first and first[0]))
        )
    if operation in ("is_closed", "has_synced", "len", "key_of", "pop_batch"):
        return lambda self, *arguments: self._settled(call, self._queue, *arguments)
    return lambda self, *arguments: _nothing(self._settled(call, self._queue, *arguments))


def _nothing(_: object) -> None:
    """Drop the result of a write: client-go's writes return nothing."""


def _taken(make: Callable[..., Any], options: Mapping[str, str]) -> tuple[bool, dict[str, str]]:
    """Return whether ``make`` takes the key function, and the options that it takes: option -> parameter name."""
    try:
        parameters = inspect.signature(make).parameters
    except (TypeError, ValueError):
        return False, dict(options)
    is_open = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    names = {name: next((one for one in names_of(name) if one in parameters), "") for name in OPTIONS}
    if is_open:
        names = {name: one or name for name, one in names.items()}
    placed = [one for one in parameters.values() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    takes_key_func = bool(placed) and placed[0].name not in names.values()
    return takes_key_func, {**{name: one for name, one in names.items() if one}, **options}
