"""Callables as arguments: what a listener, a job or a factory may do to the object that calls it.

A callback is one function for all calls on one object, so that ``unsubscribe`` gets what ``subscribe`` got.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final

from ..decoding import Json, fields_of, member_of, text_of
from .method_call import Calling, LateArgument


class CallbackError(Exception):
    """What a callback raises that raises."""


class Behaviour(enum.StrEnum):
    """What a callback does when it is called."""

    RECORDS = "records"
    """Takes down what it is called with. How often it was called with what is compared when all threads have ended:
    two threads that call it at the same time may do so in either order."""
    RETURNS = "returns"
    """Returns its first argument, or a number if it gets none. How often it is called is not compared: code that
    computes a value again after a conflict is right."""
    RAISES = "raises"
    """Raises :class:`CallbackError`."""
    CALLS_BACK = "calls_back"
    """Calls a method of the object without arguments, within the call that it was passed to.

    Where a thread of the object runs it later, it does nothing: no order of the calls could explain its effect."""


RETURNED: Final = 1
"""What a callback returns that gets no arguments."""


@dataclass(frozen=True, slots=True, repr=False)
class Callback(LateArgument):
    """A callable as an argument.

    Attributes:
        behaviour: what it does.
        method: of the object; what :attr:`Behaviour.CALLS_BACK` calls.
    """

    behaviour: Behaviour
    method: str = ""

    def value(self, calling: Calling) -> object:
        """The function."""
        return calling.once(self, lambda: self._function(calling))

    def json(self) -> Json:
        """``{"callback": behaviour, "method": name}``."""
        return {"callback": self.behaviour.value, "method": self.method}

    def __repr__(self) -> str:
        return f"calls_{self.method.strip('_')}" if self.method else str(self.behaviour)

    def imports(self) -> Sequence[str]:
        """The function in Python, where the object is called ``made``."""
        code = {
            Behaviour.RECORDS: "def records(*args, **kwargs): calls.append(args)",
            Behaviour.RETURNS: f"def returns(*args, **kwargs): return args[0] if args else {RETURNED}",
            Behaviour.RAISES: "def raises(*args, **kwargs): raise RuntimeError('callback')",
            Behaviour.CALLS_BACK: f"def {self!r}(*args, **kwargs): made.{self.method}()",
        }[self.behaviour]
        return [*(["calls = []"] if self.behaviour is Behaviour.RECORDS else []), code]

    def _function(self, calling: Calling) -> Callable[..., Any]:
        # The object and its log are looked up here: what asks for the value lives for one call only.
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
        return CallbackFunction(functions[self.behaviour], repr(self))


class CallbackFunction:
    """A function that can be sorted.

    Queues of jobs sort pairs of a time and a job, and two jobs of one time are no fault of the queue.

    Args:
        function: what is called.
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
    """Whether a driver has made the call that runs now, in the same thread."""
    from .plain_driver import PlainDriver

    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code is not PlainDriver.value_of.__code__:
        frame = frame.f_back
    return frame is not None


def decode_callback(data: Json) -> Callback:
    """The inverse of :meth:`Callback.json`.

    Raises:
        FormatError: it is none.
    """
    fields = fields_of(data, "a callback", {"callback"}, {"method"})
    return Callback(member_of(Behaviour, fields["callback"], "behaviour"), text_of(fields.get("method", "")))
