"""Driver of a real queue: it runs the calls of a program, and reads their results."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from kcache import KeyFuncError
from kcache.errors import EnqueueError, FIFOClosedError

from ..history import PREFIX_THREAD
from ..object_types.object_type import Load
from ..outcomes import Outcome, error_text, raised, returned
from ..places import frames_of
from .consumer import Consumer
from .operations import CallName, ErrorKind, Operation
from .program import Deviation, QueueKind, QueueProgram
from .reading import Change, RejectedError, key_func, make_object, object_text, read_deltas, transformer

CONSUMER: Final = "kcache_model.queues.consumer"
"""The module of the consumer; the explorer loads a private copy of it."""

_ERRORS: tuple[tuple[type[BaseException], ErrorKind], ...] = (
    (KeyFuncError, ErrorKind.KEY_FUNC),
    (FIFOClosedError, ErrorKind.CLOSED),
    (EnqueueError, ErrorKind.TRANSFORMER),
    (RejectedError, ErrorKind.TRANSFORMER),
)


class ProcessFailedError(Exception):
    """The exception of a process function that fails because the program says so."""


class QueueDriver:
    """The driver of one queue under test and its consumer.

    Args:
        factory: creates the queue; its exceptions pass through.
        program: the program, which defines the options of the queue.
        load: returns a module by its name.
        passing: types of exceptions that pass through because they are not outcomes of calls.
        target: unused; see :class:`~kcache_model.object_types.object_type.MakeDriver`.

    Attributes:
        made: the queue.
        passing: the argument ``passing``.
        deviations: the declared deviations of the queue.
    """

    def __init__(
        self,
        factory: Callable[..., Any],
        program: QueueProgram,
        *,
        load: Load = importlib.import_module,
        passing: tuple[type[BaseException], ...] = (),
        target: object = None,
    ) -> None:
        del target
        self.passing = passing
        self.deviations = frozenset(program.deviations)
        self._has_types = program.kind is not QueueKind.FIFO
        make_consumer: type[Consumer] = load(CONSUMER).__dict__["Consumer"]
        self.consumer = make_consumer({str(version.key): make_object(version) for version in program.known})
        self.made = factory(key_func, **options_of(program, self.consumer))

    def call(self, operation: Operation, thread: int = PREFIX_THREAD) -> Outcome:  # noqa: ARG002 - of all threads alike
        """Call the queue once and return the outcome."""
        try:
            return self._call(operation)
        except self.passing:
            raise
        except (Exception, SystemExit) as error:
            kind = next((kind for types, kind in _ERRORS if isinstance(error, types)), ErrorKind.OTHER)
            return replace(raised(kind, error_text(error)), frames=frames_of(error))

    def _call(self, operation: Operation) -> Outcome:
        queue = self.made
        match operation.name:
            case CallName.ADD | CallName.UPDATE | CallName.DELETE:
                assert operation.thing is not None
                return _nothing(getattr(queue, operation.name.value)(make_object(operation.thing)))
            case CallName.REPLACE:
                return self._replace(operation)
            case CallName.RESYNC | CallName.CLOSE:
                return _nothing(getattr(queue, operation.name.value)())
            case CallName.BOOKMARK:
                return _nothing(queue.bookmark(operation.resource_version))
            case CallName.POP:
                handed = _Handed(self, operation)
                return handed.during(lambda: queue.pop(handed.process))
            case CallName.POP_BATCH:
                return self._pop_batch(operation)
            case CallName.IS_CLOSED | CallName.HAS_SYNCED:
                answer = getattr(queue, operation.name.value)()
                return returned(answer) if isinstance(answer, bool) else returned(f"a {type(answer).__name__}")
            case CallName.LENGTH:
                return returned(len(queue))
            case CallName.KEY_OF:
                assert operation.thing is not None
                return returned(str(queue.key_of(make_object(operation.thing))))
            case CallName.KNOWN:
                objects = self.consumer.read()
                return returned(tuple(object_text(objects[key]) for key in sorted(objects)))

    def _replace(self, operation: Operation) -> Outcome:
        objects: list[Any] = [make_object(version) for version in operation.objects]
        result = self.made.replace(objects, operation.resource_version)
        objects.clear()  # the list belongs to the caller: a queue that keeps it without a copy loses the objects
        return _nothing(result)

    def _pop_batch(self, operation: Operation) -> Outcome:
        handed = _Handed(self, operation)

        def call() -> object:
            self.made.pop_batch(handed.process_batch, handed.process_single)
            return _NOTHING

        return handed.during(call)

    def texts(self, item: Any) -> tuple[str, ...]:
        """The changes that were handed out, as texts."""
        return tuple(text for text, _ in self.read(item))

    def read(self, item: Any) -> Sequence[tuple[str, Change]]:
        """The changes that were handed out, each with its text."""
        return tuple(read_deltas(item, has_types=self._has_types))


class _Handed:
    """The calls of the process functions within one ``pop``, and the outcome of that ``pop``."""

    def __init__(self, driver: QueueDriver, operation: Operation) -> None:
        self._driver = driver
        self._error = ProcessFailedError("as the program says") if operation.fails else None
        self._applies = operation.applies
        self._process_calls: list[tuple[str, ...]] = []
        self._texts: tuple[str, ...] = ()

    def process(self, item: Any, is_in_initial_list: bool, mode: str = "") -> None:
        """The process function: records the item, then raises or stores it, as the operation says."""
        changes = self._driver.read(item)
        self._texts = tuple(text for text, _ in changes)
        is_first = is_in_initial_list and Deviation.INITIAL_LIST not in self._driver.deviations
        self._process_calls.append((*(["initial"] if is_first else []), *([mode] if mode else []), *self._texts))
        if self._error is not None:
            raise self._error
        if self._applies:
            self._driver.consumer.apply([change for _, change in changes])

    def process_batch(self, deltas: Any, is_in_initial_list: bool) -> None:
        """The process function for several deltas."""
        self.process(deltas, is_in_initial_list, "batch")

    def process_single(self, deltas: Any, is_in_initial_list: bool) -> None:
        """The process function for a single delta."""
        self.process(deltas, is_in_initial_list, "single")

    def during(self, call: Callable[[], Any]) -> Outcome:
        """Run the ``pop`` and return its outcome."""
        deviations = self._driver.deviations
        has_failed = Deviation.PROCESS_ERRORS in deviations and self._error is not None
        try:
            result = call()
        except self._driver.passing:
            raise
        except ProcessFailedError as error:
            return self._outcome("raised" if error is self._error else "raised what another process function did")
        except Exception:
            if has_failed and self._process_calls:
                return self._outcome("raised")
            raise
        if self._error is not None:
            return self._outcome("raised" if has_failed else "did not raise what process raised")
        if Deviation.POP_RESULT in deviations:
            return self._outcome("")
        returns = self._driver.texts(result) if result is not _NOTHING else self._texts
        return self._outcome("" if returns == self._texts else f"but returned [{', '.join(returns)}]")

    def _outcome(self, remark: str) -> Outcome:
        if len(self._process_calls) != 1:
            return returned(f"process was called {len(self._process_calls)} times")
        return returned((*self._process_calls[0], *([remark] if remark else [])))


_NOTHING = object()
"""The result of ``pop_batch`` here, because it returns nothing."""


def options_of(program: QueueProgram, consumer: Consumer) -> dict[str, Any]:
    """The keyword arguments of the factory for the queue of a program; arguments with default values are left out."""
    options: dict[str, Any] = {}
    if program.options.known_objects:
        options["known_objects"] = consumer
    if program.options.transformer:
        options["transformer"] = transformer
    for name in ("emit_delta_type_replaced", "atomic_events", "emit_delta_type_bookmark"):
        if getattr(program.options, name):
            options[name] = True
    return options


def _nothing(result: object) -> Outcome:
    return returned() if result is None else returned(f"returned a {type(result).__name__}")
