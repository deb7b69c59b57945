"""Driver of objects with async methods: each call runs in an event loop, and the caller waits for its end."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

from ..history import PREFIX_THREAD
from ..outcomes import CANCELLED, NOT_BEGUN, Outcome
from .loop_thread import CallCancelledError, LoopThread
from .method_call import MOST_ITEMS, Form, MethodCall
from .object_type import Load
from .plain_driver import PlainDriver


class AwaitingDriver(PlainDriver):
    """The driver of one object whose methods are async.

    Args:
        factory: creates the object, in the loop.
        load: returns ``asyncio`` and ``threading``.
        more: see :class:`~.plain_driver.PlainDriver`.
    """

    is_on_loop = True

    def __init__(
        self, factory: Callable[[], Any], _: Any, /, *, load: Load = importlib.import_module, **more: Any
    ) -> None:
        self._loop = LoopThread(load)
        self._cancelled: set[int] = set()
        super().__init__(factory, _, load=load, **more)

    def call(self, operation: MethodCall, thread: int = PREFIX_THREAD) -> Outcome:
        """Run a call and return its outcome; a thread whose call was cancelled makes no further calls."""
        if thread in self._cancelled:
            return NOT_BEGUN
        try:
            return super().call(operation, thread)
        except CallCancelledError:
            self._cancelled.add(thread)
            return CANCELLED

    def create(self, factory: Callable[[], Any]) -> Any:
        """Create the object in the loop: the constructor may look for the running loop."""

        async def create() -> object:
            return factory()

        return self._loop.call(PREFIX_THREAD, create)

    def value_of(self, operation: MethodCall, thread: int) -> object:
        """Run a call in the loop, wait for it, and return its unchanged result; exceptions of the call pass through."""
        return self.in_loop(lambda: awaited_value(self, operation, thread), thread)

    def in_loop(self, work: Callable[[], Coroutine[Any, Any, object]], thread: int) -> object:
        """Run a coroutine in the task of a thread, wait for it, and return its result; its exceptions pass through."""
        return self._loop.call(thread, work)


async def awaited_value(driver: PlainDriver, operation: MethodCall, thread: int) -> object:
    """Run a call in the running loop and return its unchanged result; exceptions of the call pass through.

    Raises:
        NoResultError: see :meth:`~.plain_driver.PlainDriver.value_of`.
    """
    if operation.is_async and operation.form is Form.EXIT:
        context = driver.innermost_block(operation, thread)
        return bool(await type(context).__aexit__(context, None, None, None))
    owner = driver.receiver(operation, thread)
    if operation.own_name == "__aiter__":
        return await _items(owner)
    if operation.own_name == "__await__":
        return await owner
    if operation.is_async and operation.form in (Form.ENTER, Form.ITERATE):
        values, named = driver.arguments(operation, thread)
        own = operation.attribute == "__aenter__"
        context = owner if own else getattr(owner, operation.attribute)(*values, **named)
        if operation.form is Form.ITERATE:
            return await _items(context)
        return driver.entered(operation, thread, context, await type(context).__aenter__(context))
    value: Any = PlainDriver.value_of(driver, operation, thread)
    is_awaited = operation.form is Form.CALL and (operation.is_async or inspect.iscoroutine(value))
    return await value if is_awaited else value


async def _items(iterable: Any) -> tuple[object, ...]:
    """Return the items of an async iterator, at most :data:`~.method_call.MOST_ITEMS`."""
    items = []
    async for item in iterable:
        items.append(item)
        if len(items) == MOST_ITEMS:
            break
    return tuple(items)
