"""Calls of an object under test, and the values that they take.

A call is data: it is written into replay tokens, shrunk, and made again on other objects. Therefore an argument that is
not plain data is a :class:`LateArgument`: a description from which the driver makes the value when the call is made.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Protocol

from ..decoding import Json


class Form(enum.StrEnum):
    """How a call is written in Python.

    The name of a call is the name of the attribute. Where one attribute has several forms, the form follows behind a
    dot: ``size`` reads, ``size.set`` assigns.
    """

    CALL = "call"
    """``made.name(...)``"""
    READ = "read"
    """``made.name``"""
    SET = "set"
    """``made.name = value``"""
    ITERATE = "iterate"
    """``list(made.name(...))``: what a generator yields, or an iterator. At most :data:`MOST_ITEMS` items."""
    ENTER = "enter"
    """The beginning of ``with made.name(...):``, or of ``with made:``."""
    EXIT = "exit"
    """The end of that block."""
    RESULTS = "results"
    """No call: which of the results so far are the same object, and what their public attributes hold."""


MOST_ITEMS: Final = 10
"""Items that are taken of an iterator: more than a small program puts into an object; endless iterators end."""


class Calling(Protocol):
    """What a late argument is made of."""

    @property
    def made(self) -> Any:
        """The object under test."""
        ...

    def last_result(self, name: str, /) -> object:
        """What the last call of that name returned whose result the same thread has not passed to the same method.

        Raises:
            NoResultError: no call of the thread, or of the set-up, did.
        """
        ...

    @property
    def log(self) -> list[str]:
        """Takes down what callbacks are called with."""
        ...

    def once(self, argument: LateArgument, make: Callable[[], object], /) -> object:
        """The value of an argument, which is the same object for all calls on one object under test."""
        ...


class NoResultError(Exception):
    """A call needs the result of another call, and there is none: the call is not made."""


class LateArgument(ABC):
    """An argument that is not plain data: its value is made when the call is made.

    Hashable, and compared by its description.
    """

    __slots__ = ()

    @abstractmethod
    def value(self, calling: Calling) -> object:
        """The value.

        Raises:
            NoResultError: there is none yet.
        """

    @abstractmethod
    def json(self) -> Json:
        """The description as JSON."""

    def imports(self) -> Sequence[str]:
        """Lines that ``repr`` of this needs to be Python."""
        return ()


class MadeAnew(LateArgument):
    """An argument that each call gets as a new object."""

    __slots__ = ()

    @abstractmethod
    def made(self) -> object:
        """A new object."""

    def value(self, calling: Calling) -> object:
        """A new object."""
        del calling
        return self.made()


@dataclass(frozen=True, slots=True, repr=False)
class ResultOf(LateArgument):
    """What a call returned: ``release`` takes what ``acquire`` returned, ``unsubscribe`` what ``subscribe`` returned.

    The call is the last one of the same thread, else of the set-up; a second ``release`` takes the one before. The
    result of another thread is never taken: which one comes last would depend on the schedule, outside of any call, and
    no order of the calls could explain that.

    Attributes:
        name: of the call that returned it.
    """

    name: str

    def value(self, calling: Calling) -> object:
        """The object itself."""
        return calling.last_result(self.name)

    def json(self) -> Json:
        """``{"result_of": name}``."""
        return {"result_of": self.name}

    def __repr__(self) -> str:
        return result_name(self.name)


def result_name(call: str) -> str:
    """The name of the result of a call in reports and scripts: ``result_of_acquire``."""
    return f"result_of_{call.replace('.', '_')}"


@dataclass(frozen=True, slots=True)
class MethodCall:
    """A call of an object.

    Attributes:
        name: of the method or attribute; see :class:`Form`.
        arguments: plain, immutable data, or :class:`LateArgument`.
        is_write: whether it may change anything.
        form: how it is written.
        keywords: the names of the last arguments, which are passed by name.
        making: lines of Python that make the object, of what makes one.
    """

    making: ClassVar[tuple[str, ...]] = ("made = {}",)
    name: str
    arguments: tuple[Any, ...] = ()
    is_write: bool = field(default=True, compare=False)
    form: Form = field(default=Form.CALL, compare=False)
    keywords: tuple[str, ...] = ()

    @property
    def is_attribute(self) -> bool:
        """Whether it is no call, but the reading of an attribute."""
        return self.form is Form.READ

    @property
    def names_threads(self) -> bool:
        """Whether its result names threads by their numbers."""
        return self.form is Form.RESULTS

    @property
    def attribute(self) -> str:
        """The name of the method or attribute that is called, read, or set."""
        return self.name.partition(".")[0]

    @property
    def puts_in(self) -> bool:
        """Whether, by its name, it puts something into the object, or opens it: others may return only after it."""
        return self.name in _PUTS_IN or self.name.partition("_")[0] in _PUTS_IN

    @property
    def needs(self) -> tuple[str, ...]:
        """The names of the calls whose results it takes."""
        return tuple(value.name for value in self.arguments if isinstance(value, ResultOf))

    def __str__(self) -> str:
        return _TEXTS[self.form](self, repr)

    def code(self, literal: Callable[[object], str] = repr) -> str:
        """The call in Python, after what :attr:`making` makes."""
        if self.form is Form.CALL and self.name in OPERATORS:
            return OPERATORS[self.name].format("made", *map(literal, self.arguments), passed=self.passed(literal))
        return _CODES[self.form](self, literal)

    def passed(self, literal: Callable[[object], str] = repr) -> str:
        """The arguments in Python."""
        plain = len(self.arguments) - len(self.keywords)
        named = zip(self.keywords, self.arguments[plain:], strict=True)
        return ", ".join(
            [*map(literal, self.arguments[:plain]), *(f"{name}={literal(value)}" for name, value in named)]
        )

    def values(self, calling: Calling) -> tuple[list[object], dict[str, object]]:
        """The arguments as the method gets them: by position, and by name.

        Raises:
            NoResultError: the call that one of them comes from has not returned anything.
        """
        values = [value.value(calling) if isinstance(value, LateArgument) else value for value in self.arguments]
        plain = len(values) - len(self.keywords)
        return values[:plain], dict(zip(self.keywords, values[plain:], strict=True))


_PUTS_IN: Final = frozenset(
    (
        *("__setitem__", "acquire", "add", "append", "connect", "enqueue", "insert", "open", "push", "put", "register"),
        *("set", "setdefault", "start", "submit", "subscribe", "update", "write"),
    )
)

OPERATORS: Final = {
    "__call__": "{0}({passed})",
    "__getitem__": "{0}[{1}]",
    "__setitem__": "{0}[{1}] = {2}",
    "__delitem__": "del {0}[{1}]",
    "__contains__": "{1} in {0}",
    "__len__": "len({0})",
    "__next__": "next({0})",
}
"""Method -> how Python code calls it."""


def _context(call: MethodCall) -> str:
    return f"context_of_{call.attribute.strip('_')}"


def _entered(call: MethodCall, literal: Callable[[object], str]) -> str:
    return "made" if call.attribute == "__enter__" else f"made.{call.attribute}({call.passed(literal)})"


def _enter_code(call: MethodCall, literal: Callable[[object], str]) -> str:
    return f"{_context(call)} = {_entered(call, literal)}; {_context(call)}.__enter__()"


def _iterate_code(call: MethodCall, literal: Callable[[object], str]) -> str:
    return "list(made)" if call.attribute == "__iter__" else f"list(made.{call.name}({call.passed(literal)}))"


_CODES: Final[dict[Form, Callable[[MethodCall, Callable[[object], str]], str]]] = {
    Form.CALL: lambda call, literal: f"made.{call.name}({call.passed(literal)})",
    Form.READ: lambda call, _: f"made.{call.name}",
    Form.SET: lambda call, literal: f"made.{call.attribute} = {call.passed(literal)}",
    Form.ITERATE: _iterate_code,
    Form.ENTER: _enter_code,
    Form.EXIT: lambda call, _: f"{_context(call)}.__exit__(None, None, None)",
    Form.RESULTS: lambda *_: "pass",
}

_TEXTS: Final[dict[Form, Callable[[MethodCall, Callable[[object], str]], str]]] = {
    Form.CALL: lambda call, literal: f"{call.name}({call.passed(literal)})",
    Form.READ: lambda call, _: call.name,
    Form.SET: lambda call, literal: f"{call.attribute} = {call.passed(literal)}",
    Form.ITERATE: lambda call, literal: _iterate_code(call, literal).replace("made.", "").replace("(made)", "(self)"),
    Form.ENTER: lambda call, literal: f"with {_entered(call, literal).replace('made.', '').replace('made', 'self')}",
    Form.EXIT: lambda call, _: f"end of with {'self' if call.attribute == '__enter__' else call.attribute}",
    Form.RESULTS: lambda call, _: call.name,
}

RESULTS: Final = MethodCall("returned objects", (), is_write=False, form=Form.RESULTS)
"""What is read of the results when all threads have ended."""
