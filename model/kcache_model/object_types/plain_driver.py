"""Driver of objects whose calls are :class:`~.method_call.MethodCall`: calls methods, keeps and compares results.

The result of a call is compared in two parts. If the result is plain data or an immutable value, it is the outcome of
the call. If it is another object, the outcome of the call contains only its type. When all threads have ended,
:data:`~.method_call.RESULTS` adds an outcome: which results are the *same* object, and their public attributes.

Two alternatives were rejected. Names by the order in which objects appear differ from one order of the calls to the
next, so that correct orders would not agree. Attributes read when a call returns produce false findings: between the
moment at which a call takes effect and its return, another thread may legitimately change the object. At the end,
nothing changes any more, and names by (thread, number of the call) are the same in every order.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import importlib
import itertools
import math
import os
import pathlib
import types
import uuid
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Final, cast

from ..errors import TargetError, UnwindError
from ..foreign import all_attributes
from ..history import PREFIX_THREAD, thread_text
from ..outcomes import UNTOLD, Outcome, error_text, raised, returned, with_article
from ..places import frames_of
from ..shared_state import shared_states
from .callbacks import CallbackFunction
from .method_call import IN_PLACE, MOST_ITEMS, OPERATORS, Form, LateArgument, MethodCall, NoResultError
from .object_type import Load

NOT_CALLED: Final = "not called"
"""The error of a call that needs the result of another call, if there is no such result."""
INCOMPARABLE: Final = "there is nothing else to compare"
"""Part of the reason of each method of a class of which no result can be compared: any order is right."""
VARIES: Final = f"its results differ from run to run, and {INCOMPARABLE}"
UNREAD: Final = f"it returns nothing, and {INCOMPARABLE}"

_PLAIN: Final = (bool, int, float, str)
_IMMUTABLE: Final = (
    complex,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    decimal.Decimal,
    enum.Enum,
    fractions.Fraction,
    pathlib.PurePath,
    range,
    uuid.UUID,
)
"""Types whose values never change; results of these types are represented by their ``repr``."""

_NAMES: Final = frozenset((kind.__module__, kind.__qualname__) for kind in _IMMUTABLE)

_MOST_DEPTH: Final = 50
"""Maximum nesting of containers: the recursion over a result must not exhaust the stack."""
_MOST_ITEMS: Final = 1000
"""Maximum number of items of one container, because each result is reduced and compared thousands of times."""
_MOST_VALUES: Final = 10_000
"""Maximum number of values in one result: containers that contain each other several times would never end."""
_OF_HARNESS: Final = tuple(
    f"{os.sep}{name}{os.sep}" for name in ("kcache_model", "kcache_stress", "kcache_conformance")
)
_STACK: Final = "the stack of the call"
"""Replacement for a text with paths of kcache, such as a stack: kcache calls from another place in each phase."""
_MOST_CHARACTERS: Final = 10_000
_SHOWN_CHARACTERS: Final = 100
_MOST_BITS: Final = 10_000
"""Longer integers are represented in hexadecimal: Python refuses to print a number of more than 4,300 digits."""

_WITHOUT_IDENTITY: Final = (
    *_PLAIN,
    *_IMMUTABLE,
    bytes,
    frozenset,
    tuple,
    type,
    type(None),
    CallbackFunction,
    types.BuiltinFunctionType,
    types.FunctionType,
    types.MethodType,
    types.ModuleType,
)
"""Types whose identity is not compared: Python may create or reuse their objects freely, or a module shares them."""

_ITERATORS: Final[tuple[type, ...]] = (
    types.GeneratorType,
    enumerate,
    filter,
    map,
    reversed,
    zip,
    type(iter({})),
    type(iter({}.items())),
    type(iter({}.values())),
    type(iter([])),
    type(iter(set())),
    type(iter(())),
)
"""Types of iterators: a result of such a type is replaced by its items."""


class PlainDriver:
    """The driver of one object. It keeps all results, as callers may, so that weakly referenced objects stay alive.

    Args:
        factory: creates the object.
        load: unused, and so is ``target``; see :class:`~.object_type.MakeDriver`.
        passing: types of exceptions that pass through because they are not outcomes.
        untold: the names of calls whose results are not compared, because they differ from run to run.

    Attributes:
        made: the object.
        shares_state: whether objects share state that calls have changed. Then only one object may be used at a time.
    """

    def __init__(
        self,
        factory: Callable[[], Any],
        _: Any,
        /,
        *,
        load: Load = importlib.import_module,
        passing: tuple[type[BaseException], ...] = (),
        target: object = None,
        untold: frozenset[str] = frozenset(),
    ) -> None:
        del load, target
        states = shared_states(factory)
        for state in states:
            state.restore()
        self.shares_state = any(state.has_changed for state in states)
        try:
            self.made = self.create(factory)
        except passing:
            raise
        except (Exception, SystemExit) as error:
            raise TargetError(
                f"creating another object raised {error_text(error)}; every run of the calls needs a new object, so "
                "their number must not be limited"
            ) from error
        self._untold = untold
        self._passing = passing
        self._results: dict[int, list[tuple[MethodCall, object]]] = {}
        self._contexts: dict[int, list[tuple[str, Any]]] = {}
        self._taken: dict[tuple[int, str, int, str], set[int]] = {}
        self._once: dict[LateArgument, object] = {}
        self.log: list[str] = []
        """The recorded calls of callbacks, with their arguments."""

    def call(self, operation: MethodCall, thread: int = PREFIX_THREAD) -> Outcome:
        """Run a call and return its outcome: plain data, or an exception by its type.

        Args:
            operation: the call.
            thread: the number of the calling thread; see :mod:`kcache_model.history` for special numbers.
        """
        if operation.form is Form.RESULTS:
            return UNTOLD if operation.name in self._untold else returned(tuple(self._shared_results()))
        own = self._results.setdefault(thread, [])
        try:
            value = self.value_of(operation, thread)
            is_kept = value is not self.made and not _is_huge(value)  # the object itself is not passed on
            own.append((operation, value if is_kept else None))
            return UNTOLD if operation.name in self._untold else returned(plain_value(value))
        except self._passing:
            raise
        except NoResultError as error:
            return raised(NOT_CALLED, str(error))
        except UnwindError:
            raise
        except BaseException as error:  # also KeyboardInterrupt: the process in which the calls run gets no key presses
            if type(error).__name__ == "GreenletExit":
                raise
            own.append((operation, None))  # RESULTS counts the calls of a thread, including those that raised
            return replace(raised(type(error).__name__, error_text(error)), frames=frames_of(error))

    def value_of(self, operation: MethodCall, thread: int) -> object:
        """Run a call and return its unchanged result; exceptions of the call pass through.

        Raises:
            NoResultError: the call needs the result of a call that has not returned one, or ends a block that no call
                has begun.
        """
        owner = self.receiver(operation, thread)
        values, named = self.arguments(operation, thread)
        match operation.form:
            case Form.READ:
                return getattr(owner, operation.own_name)
            case Form.SET:
                setattr(owner, operation.attribute, *values)
                return None
            case Form.ENTER:
                own = operation.attribute == "__enter__"
                context = owner if own else getattr(owner, operation.attribute)(*values, **named)
                return self.entered(operation, thread, context, type(context).__enter__(context))
            case Form.EXIT:
                context = self.innermost_block(operation, thread)
                return bool(type(context).__exit__(context, None, None, None))
            case Form.ITERATE if operation.own_name == "__iter__":
                is_python = isinstance(getattr(type(owner), "__iter__", None), types.FunctionType)
                # If __iter__ is in C, ``list(made)`` is one step under the GIL; iter() and list() would be two.
                return _items(iter(owner)) if is_python else tuple(owner)[:MOST_ITEMS]
        if operation.own_name in OPERATORS:  # Python looks up special methods on the type, not on the object
            value = getattr(type(owner), operation.own_name)(owner, *values, **named)
        else:
            value = getattr(owner, operation.own_name)(*values, **named)
        if value is NotImplemented and operation.own_name in (*OPERATORS, *IN_PLACE):
            raise TypeError(f"{operation.own_name} does not take such an operand")
        is_run_over = operation.form is Form.ITERATE or issubclass(type(value), _ITERATORS)
        return _items(value) if is_run_over else value

    def receiver(self, operation: MethodCall, thread: int) -> Any:
        """Return the object on which a call is made.

        Raises:
            NoResultError: it is the result of a call, and no such call in the thread has returned an object.
        """
        if operation.of is None:
            return self.made
        results = self.results(operation.of.name, thread)
        if not results:
            raise NoResultError(f"no call of {operation.of.name} in this thread has returned an object")
        return results[-1]

    def create(self, factory: Callable[[], Any]) -> Any:
        """Create the object."""
        return factory()

    def arguments(self, operation: MethodCall, thread: int) -> tuple[list[object], dict[str, object]]:
        """Return the values of the arguments of a call, those passed by position and those passed by name.

        Raises:
            NoResultError: an argument is the result of a call that has not returned anything.
        """
        return operation.values(_Calling(self, operation.name, thread))

    def abandon(self) -> None:
        """Drop the blocks that no call has ended: Python then closes their generators."""
        self._contexts.clear()

    def results(self, name: str, thread: int = PREFIX_THREAD) -> list[object]:
        """The results of the calls of a name in a thread, in order, without ``None``."""
        own = self._results.get(thread, ())
        return [value for operation, value in own if operation.name == name and value is not None]

    def last_result(self, name: str, taker: str, thread: int) -> object:
        """The last result of the calls of a name that the thread has not passed to the method ``taker`` yet.

        Results of the thread come first, then results of the set-up. If all were passed, the last one is passed again.

        Raises:
            NoResultError: no call of that name in the thread or the set-up has returned a result.
        """
        for owner in (thread, PREFIX_THREAD):
            results = self.results(name, owner)
            taken = self._taken.setdefault((thread, taker, owner, name), set())
            left = [at for at in range(len(results)) if at not in taken] or [*range(len(results))]
            if left:
                taken.add(left[-1])
                return results[left[-1]]
        raise NoResultError(f"no call of {name} has returned anything")

    def once(self, argument: LateArgument, make: Callable[[], object]) -> object:
        """The value of an argument for which all calls get one object: the first object that ``make`` returned."""
        return self._once.setdefault(argument, make())

    def entered(self, operation: MethodCall, thread: int, context: Any, value: object) -> object:
        """Keep a block that a call of a thread has entered, for the call that ends it; return what ``as`` binds.

        ``None`` if that is the object on which the call was made.
        """
        self._contexts.setdefault(thread, []).append((operation.block, context))
        return None if value is self.receiver(operation, thread) else value

    def innermost_block(self, operation: MethodCall, thread: int) -> Any:
        """Return the block that a call of a thread ends, which is the last one that it has entered, and forget it.

        Raises:
            NoResultError: no call has begun such a block.
        """
        contexts = self._contexts.get(thread, [])
        at = next((at for at in reversed(range(len(contexts))) if contexts[at][0] == operation.block), None)
        if at is None:
            raise NoResultError(f"no block of {operation.block} is open")
        return contexts.pop(at)[1]

    def _shared_results(self) -> Iterator[str]:
        """Describe which results are the same object, with its public attributes, then the calls of callbacks."""
        groups: dict[int, list[str]] = {}
        objects: dict[int, object] = {}
        for thread, results in sorted(self._results.items()):
            writes = [(operation, value) for operation, value in results if operation.is_write]
            for number, (operation, value) in enumerate(writes, 1):
                if operation.name in self._untold:
                    continue
                whose = "before the threads" if thread == PREFIX_THREAD else f"of {thread_text(thread)}"
                for found in objects_in(value):
                    objects[id(found)] = found
                    own = groups.setdefault(id(found), [])
                    text = f"{operation.name} (call {number} {whose})"
                    if text not in own:
                        own.append(text)
        for key, calls in groups.items():
            yield f"{_described(objects[key])} from {' and '.join(calls)}"
        for line, times in sorted(Counter(self.log).items()):
            yield f"{line}{f', {times} times' if times > 1 else ''}"


class _Calling:
    """The context in which the late arguments of one call get their values; see :class:`~.method_call.Calling`."""

    def __init__(self, driver: PlainDriver, taker: str, thread: int) -> None:
        self._driver = driver
        self._taker = taker
        self._thread = thread

    @property
    def made(self) -> Any:
        return self._driver.made

    @property
    def log(self) -> list[str]:
        return self._driver.log

    def last_result(self, name: str, /) -> object:
        return self._driver.last_result(name, self._taker, self._thread)

    def once(self, argument: LateArgument, make: Callable[[], object], /) -> object:
        return self._driver.once(argument, make)


def _is_huge(value: object) -> bool:
    """Whether a result takes too much memory to be kept: a round has dozens of results."""
    is_plain = type(value) in (list, tuple, set, frozenset, dict, str, bytes)
    return is_plain and len(cast(Any, value)) > _MOST_VALUES


def plain_value(value: object) -> Any:
    """Reduce a result to plain, immutable data.

    Lists become tuples, sets are sorted, immutable values become their text. Any other object becomes the text of its
    type, as does a container that contains itself. Large values are cut, and their size is added.
    """
    kind = type(value)  # isinstance() would read __class__ of the object, which may run its code
    return value if value is None or kind is bool else _Reduction().plain(value, kind)


class _Reduction:
    """The reduction of one result to plain data.

    Attributes:
        within: the ids of the containers around the current value, to detect containers that contain themselves.
        left: the number of values that may still be reduced.
    """

    def __init__(self) -> None:
        self.within: list[int] = []
        self.left = _MOST_VALUES

    def plain(self, value: object, kind: type) -> Any:
        """Reduce a value of a type to plain data."""
        self.left -= 1
        found: Any = value
        if issubclass(kind, str) and any(str.__contains__(found, folder) for folder in _OF_HARNESS):
            return _STACK
        if issubclass(kind, (*_PLAIN, LateArgument, type(None))):
            return _short(found)
        if issubclass(kind, (bytes, bytearray)):
            return _short(repr(bytes(found[:_MOST_CHARACTERS]))) + _size_of(found, _MOST_CHARACTERS)
        if issubclass(kind, (list, tuple, set, frozenset, dict)):
            return self._container(found, kind)
        if _is_immutable(kind):
            return _short(repr(value))
        # threading.current_thread() may return a _DummyThread here, and a Thread where the call runs elsewhere.
        is_thread = any(base.__module__ == "threading" and base.__name__ == "Thread" for base in kind.__mro__)
        return "a Thread" if is_thread else with_article(kind.__name__)

    def _container(self, found: Any, kind: type) -> Any:
        if id(found) in self.within or len(self.within) > _MOST_DEPTH or self.left < 0:
            return with_article(kind.__name__)
        self.within.append(id(found))
        try:
            within = self._within(found, kind)
            return _STACK if _STACK in within else within
        finally:
            self.within.pop()

    def _within(self, found: Any, kind: type) -> tuple[Any, ...]:
        if issubclass(kind, (list, tuple)):
            first = tuple(self._each(found[:_MOST_ITEMS]))
            return (*first, _size_of(found, _MOST_ITEMS)) if len(found) > _MOST_ITEMS else first
        if len(found) > _MOST_ITEMS:  # sets and dicts are sorted later: a part of them would differ from run to run
            return (_size_of(found, 0),)
        if issubclass(kind, dict):
            pairs = list(dict.items(found))  # in one step: another thread may change the dict
            return tuple(sorted((tuple(self._each(pair)) for pair in pairs), key=repr))
        return tuple(sorted(self._each(tuple(found)), key=repr))

    def _each(self, values: Iterable[object]) -> Iterator[Any]:
        for value in values:
            yield self.plain(value, type(value))


def _is_immutable(kind: type) -> bool:
    """Whether the values of a type never change. Types are also compared by name: the explorer copies some modules."""
    return issubclass(kind, _IMMUTABLE) or any((base.__module__, base.__qualname__) in _NAMES for base in kind.__mro__)


def _short(value: Any) -> Any:
    """A scalar that equals itself and can be printed: ``nan`` differs from itself, and Python refuses huge numbers."""
    if type(value) is float and math.isnan(value):
        return "nan"
    if type(value) is int and value.bit_length() > _MOST_BITS:
        return _short(hex(value))
    if type(value) is str and len(value) > _MOST_CHARACTERS:
        whole = zlib.crc32(value.encode("utf-8", "surrogatepass"))
        return f"{value[:_SHOWN_CHARACTERS]}{_size_of(value, _SHOWN_CHARACTERS)}, checksum {whole}"
    return value


def _size_of(found: Any, most: int) -> str:
    """The text with the full size of a value that was cut after ``most`` items; empty if nothing was cut."""
    return f"... ({len(found)} in all)" if len(found) > most else ""


def public_attributes(value: object) -> dict[str, Any]:
    """The public attributes of an object that hold plain data. They are read without running code of the object."""
    return {
        name: found
        for name, found in sorted(all_attributes(value).items(), key=lambda item: str(item[0]))
        if isinstance(name, str) and not name.startswith("_") and (found is None or type(found) in _PLAIN)
    }


def has_identity(value: object) -> bool:
    """Whether a result is or contains an object whose identity is compared with other results."""
    return any(True for _ in objects_in(value))


def _described(value: object) -> str:
    """The text of an object in a report: its type and its public attributes."""
    attributes = ", ".join(f"{name}={found!r}" for name, found in public_attributes(value).items())
    return f"{type(value).__name__}({attributes})" if attributes else plain_type(value)


def plain_type(value: object) -> str:
    """The name of the type of an object, with an article."""
    return with_article(type(value).__name__)


def objects_in(value: object, depth: int = 2) -> Iterator[object]:
    """The objects in a result whose identity is compared: the result itself, and items of lists, tuples and dicts."""
    kind, within = type(value), cast(Any, value)
    is_tuple = issubclass(kind, tuple)
    if not is_tuple and (issubclass(kind, _WITHOUT_IDENTITY) or _is_immutable(kind)):
        return
    if not is_tuple:
        yield value
    if depth and issubclass(kind, (list, tuple)):
        for found in tuple(within[:_MOST_ITEMS]):
            yield from objects_in(found, depth - 1)
    elif depth and issubclass(kind, dict):
        for found in list(dict.values(within))[:_MOST_ITEMS]:
            yield from objects_in(found, depth - 1)


def _items(iterator: Any) -> tuple[object, ...]:
    """The first items of an iterator; a generator is closed afterwards."""
    found = tuple(itertools.islice(iterator, MOST_ITEMS))
    close = getattr(iterator, "close", None) if isinstance(iterator, types.GeneratorType) else None
    if close is not None:
        close()
    return found
