"""Callables as arguments: stand-ins for a listener, a job or a factory that the object under test calls.

A callback is one function for all calls on one object, so that ``unsubscribe`` gets the function that ``subscribe``
got.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final

from ..decoding import Json, fields_of, member_of, text_of
from .awaited_result import AwaitedResult
from .method_call import Calling, LateArgument


class CallbackError(Exception):
    """The exception of a callback with :attr:`Behaviour.RAISES`."""


class Behaviour(enum.StrEnum):
    """The behaviour of a callback when it is called."""

    RECORDS = "records"
    """Record the arguments. When all threads have ended, the number of calls with equal arguments is compared, but not
    their order: two threads that call it at the same time may do so in either order."""
    RETURNS = "returns"
    """Return the first argument, or :data:`RETURNED` if there is none. The number of calls is not compared: code that
    computes a value again after a conflict is correct."""
    RAISES = "raises"
    """Raise :class:`CallbackError`."""
    CALLS_BACK = "calls_back"
    """Call a method of the object without arguments, within a call on that object.

    If a thread of the object runs it later, it does nothing: no order of the calls could explain its effect."""


class CallbackForm(enum.StrEnum):
    """Kind of function or coroutine that a callback is."""

    FUNCTION = "function"
    ASYNC_FUNCTION = "async function"
    """A function whose result may be awaited."""
    COROUTINE = "coroutine"
    """The result of a call of an async function, which runs when it is awaited. Each call gets a new one."""


RETURNED: Final = 1
"""The result of a callback with :attr:`Behaviour.RETURNS` that gets no arguments."""


@dataclass(frozen=True, slots=True, repr=False)
class Callback(LateArgument):
    """A callable as an argument.

    Attributes:
        behaviour: its behaviour when it is called.
        method: the name of the method of the object that :attr:`Behaviour.CALLS_BACK` calls; otherwise empty.
        form: how it is written. Async callbacks call no method back.
    """

    behaviour: Behaviour
    method: str = ""
    form: CallbackForm = CallbackForm.FUNCTION

    def value(self, calling: Calling) -> object:
        """The function: the same one for all calls on one object. For a coroutine, a new one."""
        function: Any = calling.once(self, lambda: self._function(calling))
        return function() if self.form is CallbackForm.COROUTINE else function

    def json(self) -> Json:
        """``{"callback": behaviour, "method": name}``; with ``"form"`` if it is no plain function."""
        data = {"callback": self.behaviour.value, "method": self.method}
        return data if self.form is CallbackForm.FUNCTION else data | {"form": self.form.value}

    def __repr__(self) -> str:
        return f"{self._name}()" if self.form is CallbackForm.COROUTINE else self._name

    @property
    def _name(self) -> str:
        return f"calls_{self.method.strip('_')}" if self.method else str(self.behaviour)

    def imports(self) -> Sequence[str]:
        """The lines of Python that define the function; they call the object ``made``."""
        code = {
            Behaviour.RECORDS: "def records(*args, **kwargs): calls.append(args)",
            Behaviour.RETURNS: f"def returns(*args, **kwargs): return args[0] if args else {RETURNED}",
            Behaviour.RAISES: "def raises(*args, **kwargs): raise RuntimeError('callback')",
            Behaviour.CALLS_BACK: f"def {self._name}(*args, **kwargs): made.{self.method}()",
        }[self.behaviour]
        if self.form is not CallbackForm.FUNCTION:
            head, body = code.split(": ", 1)
            code = f"async {head}: await asyncio.sleep(0); {body}"
        return [*(["calls = []"] if self.behaviour is Behaviour.RECORDS else []), code]

    def _function(self, calling: Calling) -> Callable[..., Any]:
        # The object and its log are looked up now, because ``calling`` lives for one call only.
        made, log, method = calling.made, calling.log, self.method

        def records(*args: Any, **kwargs: Any) -> None:
            from .plain_driver import plain_value

            given = [str(plain_value(value)) for value in args]
            given += [f"{name}={plain_value(value)}" for name, value in kwargs.items()]
            log.append(f"callback called with ({', '.join(given)})")

        def returns(*args: Any, **_: Any) -> Any:
            return args[0] if args else RETURNED

        def raises(*_: Any, **__: Any) -> None:
            raise CallbackError("the callback raised")

        def calls_back(*_: Any, **__: Any) -> None:
            if _is_within_call():
                getattr(made, method)()

        functions: dict[Behaviour, Callable[..., Any]] = {
            Behaviour.RECORDS: records,
            Behaviour.RETURNS: returns,
            Behaviour.RAISES: raises,
            Behaviour.CALLS_BACK: calls_back,
        }
        function = functions[self.behaviour]
        if self.form is not CallbackForm.FUNCTION:
            function = _awaited(function, at_once=self.behaviour is Behaviour.RECORDS)
        return CallbackFunction(function, self._name)


def _awaited(function: Callable[..., Any], *, at_once: bool) -> Callable[..., Any]:
    """Return a function that returns a coroutine.

    Args:
        function: the function that does the work.
        at_once: whether the function is called before the coroutine is awaited. A call is recorded at once, because
            code may call a callback without awaiting the result.
    """

    def call(*args: Any, **kwargs: Any) -> AwaitedResult:
        if at_once:
            function(*args, **kwargs)
            return AwaitedResult(lambda: None)
        return AwaitedResult(lambda: function(*args, **kwargs))

    return call


class CallbackFunction:
    """A function that can be sorted by its name.

    Queues of jobs sort pairs of a time and a job. If two jobs have the same time, Python compares the jobs; a plain
    function would raise TypeError there, which is not a fault of the queue.

    Args:
        function: the function that is called.
        name: the name of the function.
    """

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._function = function
        self.__name__ = self.__qualname__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self._function(*args, **kwargs)

    def __lt__(self, other: object) -> bool:
        return self.__name__ < str(getattr(other, "__name__", ""))


def _is_within_call() -> bool:
    """Whether this code runs within a call of a driver in the same thread."""
    from .plain_driver import PlainDriver

    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code is not PlainDriver.value_of.__code__:
        frame = frame.f_back
    return frame is not None


def decode_callback(data: Json) -> Callback:
    """Decode a callback: the inverse of :meth:`Callback.json`.

    Raises:
        FormatError: the data does not describe a callback.
    """
    fields = fields_of(data, "a callback", {"callback"}, {"method", "form"})
    behaviour = member_of(Behaviour, fields["callback"], "behaviour")
    form = member_of(CallbackForm, fields.get("form", CallbackForm.FUNCTION.value), "form")
    return Callback(behaviour, text_of(fields.get("method", "")), form)
