"""Calls of an object under test, and the values of their arguments.

A call is data: it is written into replay tokens, shrunk, and repeated on other objects. Therefore an argument that is
not plain data is a :class:`LateArgument`: a description from which the driver creates the value when it runs the call.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Protocol

from ..decoding import Json


class Form(enum.StrEnum):
    """The form of a call in Python code.

    The name of a call is the name of the attribute. If one attribute has several forms, the form follows after a dot:
    ``size`` reads, ``size.set`` assigns.
    """

    CALL = "call"
    """``made.name(...)``"""
    READ = "read"
    """``made.name``"""
    SET = "set"
    """``made.name = value``"""
    ITERATE = "iterate"
    """``list(made.name(...))``: the items of a generator or iterator, at most :data:`MOST_ITEMS`."""
    ENTER = "enter"
    """The beginning of ``with made.name(...):``, or of ``with made:``."""
    EXIT = "exit"
    """The end of that block."""
    RESULTS = "results"
    """No call: a comparison of which results so far are the same object, with the values of their public attributes."""


MOST_ITEMS: Final = 10
"""Maximum number of items taken from an iterator, which may be endless: more than a small program adds to an object."""


class Calling(Protocol):
    """The context in which a late argument gets its value: one call on one object."""

    @property
    def made(self) -> Any:
        """The object under test."""
        ...

    def last_result(self, name: str, /) -> object:
        """The last result of the calls of a name that the same thread has not passed to the same method yet.

        Raises:
            NoResultError: no call of that name, in the thread or the set-up, has returned a result.
        """
        ...

    @property
    def log(self) -> list[str]:
        """The log of the arguments that callbacks are called with."""
        ...

    def once(self, argument: LateArgument, make: Callable[[], object], /) -> object:
        """The value of an argument, which is the same object for all calls on one object under test."""
        ...


class NoResultError(Exception):
    """The exception of a call that needs the result of another call, if there is no such result: it does not run."""


class LateArgument(ABC):
    """An argument that is not plain data: its value is created when the call runs.

    It is hashable, and compared by its description.
    """

    __slots__ = ()

    @abstractmethod
    def value(self, calling: Calling) -> object:
        """The value.

        Raises:
            NoResultError: the value is a result that no call has returned yet.
        """

    @abstractmethod
    def json(self) -> Json:
        """The description as JSON."""

    def imports(self) -> Sequence[str]:
        """Lines of Python that must run before the ``repr`` of this argument can be evaluated."""
        return ()


class MadeAnew(LateArgument):
    """An argument for which each call gets a new object."""

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
    """The result of an earlier call: ``acquire`` returns the argument of ``release``, ``subscribe`` of ``unsubscribe``.

    The result is the last one of the same thread, else of the set-up; a second ``release`` takes the result before it.
    The result of another thread is never taken: which result is the last would depend on the schedule, outside of any
    call, and no order of the calls could explain that.

    Attributes:
        name: the name of the call that returned the result.
    """

    name: str

    def value(self, calling: Calling) -> object:
        """The returned object itself."""
        return calling.last_result(self.name)

    def json(self) -> Json:
        """``{"result_of": name}``."""
        return {"result_of": self.name}

    def __repr__(self) -> str:
        return result_name(self.name)


def result_name(call: str) -> str:
    """The name of the result of a call in reports and scripts: ``result_of_acquire``, ``result_of_call``."""
    return f"result_of_{call.replace('__', '').replace('.', '_')}"


@dataclass(frozen=True, slots=True)
class MethodCall:
    """A call on an object.

    Attributes:
        name: the name of the method or attribute; see :class:`Form`. The name of a call on a result begins with
            :func:`result_name` and a dot.
        arguments: plain, immutable data, or :class:`LateArgument`.
        is_write: whether the call may change anything.
        form: the form of the call in Python code.
        keywords: the names of the last arguments, which are passed by name.
        is_async: whether the call is awaited.
        of: the call on whose last result in the same thread this call is made; ``None`` for the object under test.
        after: the call that the same thread must have made on this result before, as ``acquire`` before ``release``;
            ``None`` if there is none.
        making: lines of Python that create the object; ``{}`` stands for the expression that calls the factory.
    """

    making: ClassVar[tuple[str, ...]] = ("made = {}",)
    name: str
    arguments: tuple[Any, ...] = ()
    is_write: bool = field(default=True, compare=False)
    form: Form = field(default=Form.CALL, compare=False)
    keywords: tuple[str, ...] = ()
    is_async: bool = field(default=False, compare=False)
    of: MethodCall | None = field(default=None, compare=False)
    after: MethodCall | None = field(default=None, compare=False)

    @property
    def is_attribute(self) -> bool:
        """Whether it reads an attribute instead of calling a method."""
        return self.form is Form.READ

    @property
    def names_threads(self) -> bool:
        """Whether its result contains numbers of threads."""
        return self.form is Form.RESULTS

    @property
    def attribute(self) -> str:
        """The name of the method or attribute that is called, read, or set."""
        return self.own_name.partition(".")[0]

    @property
    def own_name(self) -> str:
        """The name without that of the result on which the call is made."""
        return self.name if self.of is None else self.name.removeprefix(f"{self.receiver}.")

    @property
    def is_of_function(self) -> bool:
        """Whether it calls what another call has returned, such as the function that ends a subscription."""
        return self.of is not None and self.own_name == "__call__"

    @property
    def receiver(self) -> str:
        """The name of the object on which the call is made, in Python code."""
        return "made" if self.of is None else result_name(self.of.name)

    @property
    def block(self) -> str:
        """The name of the ``with`` block that the call begins or ends."""
        return self.name.rpartition(".")[0]

    @property
    def puts_in(self) -> bool:
        """Whether its name says that it adds something to the object or opens it, so that other calls may return."""
        return self.own_name in _PUTS_IN or self.own_name.partition("_")[0] in _PUTS_IN

    @property
    def needs(self) -> tuple[str, ...]:
        """The names of the calls that come before it: their results are its object or arguments, or it undoes them."""
        before = (call.name for call in (self.of, self.after) if call is not None)
        return (*before, *self.results)

    @property
    def results(self) -> tuple[str, ...]:
        """The names of the calls whose results are its arguments."""
        return tuple(value.name for value in self.arguments if isinstance(value, ResultOf))

    def __str__(self) -> str:
        return (_ASYNC_TEXTS if self.is_async else _TEXTS)[self.form](self, repr)

    def code(self, literal: Callable[[object], str] = repr) -> str:
        """The call in Python code, on the object that the lines of :attr:`making` create."""
        if self.is_async:
            return _ASYNC_CODES[self.form](self, literal)
        if self.form is Form.CALL and self.own_name in OPERATORS:
            return OPERATORS[self.own_name].format(
                self.receiver, *map(literal, self.arguments), passed=self.passed(literal)
            )
        return _CODES[self.form](self, literal)

    def passed(self, literal: Callable[[object], str] = repr) -> str:
        """The arguments in Python code."""
        plain = len(self.arguments) - len(self.keywords)
        named = zip(self.keywords, self.arguments[plain:], strict=True)
        return ", ".join(
            [*map(literal, self.arguments[:plain]), *(f"{name}={literal(value)}" for name, value in named)]
        )

    def values(self, calling: Calling) -> tuple[list[object], dict[str, object]]:
        """The values of the arguments: those passed by position, and those passed by name.

        Raises:
            NoResultError: an argument is the result of a call that has not returned anything.
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

_SYMBOLS: Final = dict(
    zip(
        ["add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor"],
        ["+", "-", "*", "@", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"],
        strict=True,
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
    **{f"__{kind}__": f"{kind}({{0}})" for kind in ("bool", "int", "float", "complex", "bytes", "abs", "round")},
    "__neg__": "-{0}",
    "__pos__": "+{0}",
    "__invert__": "~{0}",
    **{f"__{name}__": f"{{0}} {symbol} {{1}}" for name, symbol in _SYMBOLS.items()},
}
"""Special method -> template of the Python code that calls it: ``{0}`` is the object, ``{1}`` the first argument."""
IN_PLACE: Final = tuple(f"__i{name}__" for name in _SYMBOLS)
"""The special methods of ``+=`` and the like. Reports call them by name: a name is assigned by these operators."""


def _context(call: MethodCall) -> str:
    whole = call.receiver if call.of is not None and call.attribute in ("__enter__", "__aenter__") else call.block
    return f"context_of_{whole.replace('.', '_').strip('_')}"


def _called(call: MethodCall, literal: Callable[[object], str]) -> str:
    return f"{call.receiver}.{call.attribute}({call.passed(literal)})"


def _with_own(call: MethodCall, literal: Callable[[object], str], *own: str) -> str:
    """Return the object on which the call is made if one of its own special methods is called, otherwise the call."""
    return call.receiver if call.attribute in own else _called(call, literal)


_CODES: Final[dict[Form, Callable[[MethodCall, Callable[[object], str]], str]]] = {
    Form.CALL: _called,
    Form.READ: lambda call, _: f"{call.receiver}.{call.own_name}",
    Form.SET: lambda call, literal: f"{call.receiver}.{call.attribute} = {call.passed(literal)}",
    Form.ITERATE: lambda call, literal: f"list({_with_own(call, literal, '__iter__')})",
    Form.ENTER: lambda call, literal: (
        f"{_context(call)} = {_with_own(call, literal, '__enter__')}; {_context(call)}.__enter__()"
    ),
    Form.EXIT: lambda call, _: f"{_context(call)}.__exit__(None, None, None)",
    Form.RESULTS: lambda *_: "pass",
}


def _of_self(code: str) -> str:
    """Return code without the name of the object, as reports show it."""
    return code.replace("made.", "").replace("(made)", "(self)").replace(" made", " self")


def _end(call: MethodCall, what: str) -> str:
    own = "self" if call.of is None else call.receiver
    return f"end of {what} {own if call.attribute in ('__enter__', '__aenter__') else call.block}"


_TEXTS: Final[dict[Form, Callable[[MethodCall, Callable[[object], str]], str]]] = {
    Form.CALL: lambda call, literal: f"{call.receiver if call.is_of_function else call.name}({call.passed(literal)})",
    Form.READ: lambda call, _: call.name,
    Form.SET: lambda call, literal: f"{call.name.removesuffix('.set')} = {call.passed(literal)}",
    Form.ITERATE: lambda call, literal: _of_self(_CODES[Form.ITERATE](call, literal)),
    Form.ENTER: lambda call, literal: _of_self(f"with {_with_own(call, literal, '__enter__')}"),
    Form.EXIT: lambda call, _: _end(call, "with"),
    Form.RESULTS: lambda call, _: call.name,
}


def _awaited(call: MethodCall, literal: Callable[[object], str]) -> str:
    if call.own_name == "__await__":
        return f"await {call.receiver}"
    return f"await anext({call.receiver})" if call.own_name == "__anext__" else f"await {_called(call, literal)}"


def _async_items(call: MethodCall, literal: Callable[[object], str]) -> str:
    return f"[item async for item in {_with_own(call, literal, '__aiter__')}]"


_ASYNC_CODES: Final[dict[Form, Callable[[MethodCall, Callable[[object], str]], str]]] = {
    **_CODES,
    Form.CALL: _awaited,
    Form.ITERATE: _async_items,
    Form.ENTER: lambda call, literal: (
        f"{_context(call)} = {_with_own(call, literal, '__aenter__')}; await {_context(call)}.__aenter__()"
    ),
    Form.EXIT: lambda call, _: f"await {_context(call)}.__aexit__(None, None, None)",
}

_ASYNC_TEXTS: Final[dict[Form, Callable[[MethodCall, Callable[[object], str]], str]]] = {
    **_TEXTS,
    Form.CALL: lambda call, literal: _of_self(_awaited(call, literal)),
    Form.ITERATE: lambda call, literal: _of_self(_async_items(call, literal)),
    Form.ENTER: lambda call, literal: _of_self(f"async with {_with_own(call, literal, '__aenter__')}"),
    Form.EXIT: lambda call, _: _end(call, "async with"),
}

RESULTS: Final = MethodCall("returned objects", (), is_write=False, form=Form.RESULTS)
"""The comparison of the results when all threads have ended; see :attr:`Form.RESULTS`."""
