"""Objects that calls return: their methods and their ``with`` blocks are calls, too, and so are returned functions.

A lock of a read-write lock, a lease, or a function that ends a subscription is a part of its class: a race may lie in
it alone. Methods and functions are called only if they belong to the package of the class under test, because anything
else has its own tests.

An object of the class itself, such as a child in a tree or a counter with other labels, is called if it shares state
with the object that returned it. A copy does not.

Alternative: one target for each class of such objects. But two locks that must exclude each other, and the object from
which they come, are three objects; such a target would see one of them.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import FunctionType, MethodType, ModuleType
from typing import Any, Final, cast

from kcache_model.foreign import all_attributes, is_a, is_any
from kcache_model.object_types.method_call import Form, MethodCall, result_name
from kcache_model.object_types.vocabulary import OperationTemplate

from .pairs import belong_together
from .public_calls import PublicCall, public_calls, required_parameters
from .sparing import Sparing

_BLOCKS: Final = (("__enter__", "__exit__", False), ("__aenter__", "__aexit__", True))
"""The methods of an object for a block, and whether the block is asynchronous."""
_MOST_METHODS: Final = 12
"""The most calls of one returned object. More, as a database connection has, would crowd out those of the class."""
_MOST_CALLS: Final = 24
"""The most calls of all returned objects."""
_MOST_BEFORE: Final = 4
"""The most calls after which a call is tried that returns nothing on a new object: a table finds what it contains."""
_WEIGHT: Final = 0.5
_DEPTH: Final = 3
"""References from an object to a child of its own class: an attribute, a container in it, and a node of some list."""
_MOST_ITEMS: Final = 100
_PLAIN: Final = (bool, int, float, complex, str, bytes, type(None))
_UNCHANGING: Final = (*_PLAIN, type, FunctionType, ModuleType)
_FORMS: Final = frozenset({Form.CALL, Form.READ, Form.ITERATE, Form.ENTER, Form.EXIT})


def with_blocks(
    calls: Sequence[PublicCall], results: Mapping[MethodCall, object], tries: Sparing, *, is_async: bool
) -> list[PublicCall]:
    """Return the calls; those that return an object that is good for nothing but a block as the two ends of that block.

    Nothing happens before such a block begins. An object with further methods, such as a connection, is left as it is.

    Args:
        calls: the calls of a class.
        results: what some of them return.
        tries: makes calls, as long as there is time.
        is_async: whether the calls are awaited, so that blocks may be asynchronous.
    """
    blocks: dict[str, bool] = {}
    for call, result in results.items():
        if call.form is Form.CALL and not call.is_async:
            for awaited in _blocks_of(type(result)):
                enter = replace(call, name=_enter(call.name), form=Form.ENTER, is_async=awaited)
                if (is_async or not awaited) and tries((enter,)).error is None:  # a proxy may have nothing to enter
                    blocks[call.name] = awaited
    return [part for call in calls for part in _parts(call, blocks)]


def results_of(templates: Sequence[OperationTemplate], tries: Sparing) -> dict[MethodCall, object]:
    """Return what calls return on a new object, or after another call; calls that take results of others are not made.

    ``None`` is left out, and so is an object of the same class that shares no state with the new object.
    """
    firsts = [next(template.smallest(0)) for template in templates]
    wanted = [call for call in firsts if call.form in (Form.CALL, Form.READ, Form.ENTER) and not call.needs]
    writes = [call for call in wanted if call.is_write]
    others = sorted((call for call in writes if call.form is Form.CALL), key=lambda call: not call.puts_in)
    others = [call for call in others[:_MOST_BEFORE] if not tries((call,)).waits]  # real threads would wait, too
    results = ((call, *_first_result(call, others, tries)) for call in writes)
    of_interest: dict[MethodCall, object] = {}
    counts: bool | None = None
    for call, creator, result in results:
        if result is None:
            continue
        is_apart = _inherits(type(result), type(creator)) and not _share_state(creator, result)
        if is_apart and counts is None:
            counts = _change_class(type(creator), writes, tries)
        if counts or not is_apart:
            of_interest[call] = result
    return of_interest


def _change_class(kind: type, calls: Sequence[MethodCall], tries: Sparing) -> bool:
    """Whether some of the calls give an attribute of the class another plain value, which all its objects share."""
    first: list[tuple[str, str]] | None = None
    for sequence in (calls[:1], *((call, call) for call in calls)):  # the creation of an object may count, too
        tries(tuple(sequence))
        own = [vars(base) for base in kind.__mro__ if base.__module__ == kind.__module__]
        named = [(name, value) for space in own for name, value in space.items() if not name.startswith("__")]
        plain = [(name, repr(value)) for name, value in named if is_any(value, _PLAIN)]
        first = plain if first is None else first
        if plain != first:
            return True
    return False


def _first_result(call: MethodCall, others: Sequence[MethodCall], tries: Sparing) -> tuple[object, object]:
    """Return an object, and what a call on it returns; if that is ``None``, on an object after another call."""
    creator, result = tries.object_and_result((call,))
    for other in others if result is None else ():
        creator, result = tries.object_and_result((other, call)) if other != call else (None, None)
        if result is not None:
            break
    return creator, result


def with_called_attributes(
    kind: type, calls: Sequence[PublicCall], results: Mapping[MethodCall, object]
) -> list[PublicCall]:
    """Return the calls; attributes as calls if they are methods, as those by ``functools.partialmethod`` are.

    Args:
        kind: the class.
        calls: the calls of the class.
        results: what some of them return.
    """
    functions = {call.name: result for call, result in results.items() if call.form is Form.READ}
    whole = []
    for call in calls:
        result = functions.get(call.name)
        function = _function_in(result)
        declared = inspect.getattr_static(kind, call.name, None)
        if function is not None and not isinstance(declared, property):
            call = replace(_call_of(result, function), name=call.name)
            if isinstance(declared, functools.singledispatchmethod):  # its signature still names the object
                call = replace(call, parameters=required_parameters(function))
        whole.append(call)
    return whole


def calls_on_results(kind: type, results: Mapping[MethodCall, object]) -> list[PublicCall]:
    """Return the public calls of the objects that calls of a class return.

    Args:
        kind: the class.
        results: what its calls return.
    """
    on_results: list[PublicCall] = []
    known: set[object] = set()
    for producer, result in results.items():
        function = _function_in(result)
        of = type(result) if function is None else function.__code__
        if producer.form is Form.READ and of in known:  # most such attributes are two names of one object
            continue
        known.add(of)
        if function is not None:
            is_own = _root(function.__globals__.get("__name__", "")) == _package(kind)
            own = [_call_of(result, function)] if is_own else []
        else:
            own = [*_own_calls(type(result))] if _package(type(result)) == _package(kind) else []
        own = [replace(call, after=_opener(call.name, own)) for call in own]
        if len(own) <= _MOST_METHODS and len(on_results) + len(own) <= _MOST_CALLS:
            name = result_name(producer.name)
            on_results += [
                replace(
                    call,
                    name=f"{name}.{call.name}",
                    of=producer,
                    after=call.after and f"{name}.{call.after}",
                    weight=_WEIGHT,
                )
                for call in own
            ]
    return on_results


def returned_by_children(
    kind: type, results: Mapping[MethodCall, object], calls: Sequence[PublicCall]
) -> dict[str, str]:
    """Return the names of the calls that are made on a result of the class itself, each with the name of such a call.

    A method may be refused by the object under test, and meant for its children: the value of a labelled counter.
    """
    children = [call for call in calls if call.of is not None and _inherits(type(results[call.of]), kind)]
    return {call.name.partition(".")[2]: call.name for call in children}


def is_other_class(of: type, kind: type) -> bool:
    """Whether a class is neither ``kind``, nor one that inherits from it, nor of the standard library."""
    return not _inherits(of, kind) and _package(of) not in sys.stdlib_module_names


def _inherits(of: type, kind: type) -> bool:
    """Whether a class is ``kind`` or inherits from it; by name, because results are of private copies of classes."""
    return (kind.__module__, kind.__qualname__) in ((base.__module__, base.__qualname__) for base in of.__mro__)


def _package(kind: type) -> str:
    return _root(kind.__module__)


def _root(module: str) -> str:
    return module.partition(".")[0]


def _share_state(creator: object, result: object) -> bool:
    """Whether one object refers to the other, or both, or their common class, refer to an object that may change."""
    if any(each is one for one, other in ((creator, result), (result, creator)) for each in _within(other)):
        return True
    if type(creator) is type(result) and any(map(_is_state, vars(type(creator)).values())):
        return True
    theirs = {id(value) for value in all_attributes(result).values() if _may_change(value)}
    return any(id(value) in theirs for value in all_attributes(creator).values() if _may_change(value))


def _within(value: object, depth: int = _DEPTH) -> Iterator[object]:
    """Yield the objects to which an object refers by its attributes, and by containers in them."""
    inner: list[object] = [*all_attributes(value).values()]
    if is_any(value, (list, tuple, set)):
        inner += [*itertools.islice(cast(Any, value), _MOST_ITEMS)]
    elif is_a(value, dict):
        inner += [*itertools.islice(dict.values(value), _MOST_ITEMS)]
    for each in inner:
        yield each
        if depth and _may_change(each):
            yield from _within(each, depth - 1)


def _is_state(value: object) -> bool:
    """Whether an attribute of a class is an object that its objects share, such as a lock, and not a method."""
    return _may_change(value) and not (callable(value) or hasattr(type(value), "__get__"))


def _may_change(value: object) -> bool:
    return not is_any(value, _UNCHANGING)


def _function_in(result: object) -> FunctionType | None:
    """Return the function that a result calls, if it is a function, a bound method or a partial function."""
    while is_a(result, functools.partial):
        result = result.func
    if is_a(result, MethodType):
        result = result.__func__
    return result if is_a(result, FunctionType) else None


def _call_of(result: Any, function: FunctionType) -> PublicCall:
    """Return the call of a returned function; see :func:`_function_in`."""
    is_async_generator = inspect.isasyncgenfunction(function)
    form = Form.ITERATE if is_async_generator or inspect.isgeneratorfunction(function) else Form.CALL
    is_async = is_async_generator or inspect.iscoroutinefunction(function)
    parameters = required_parameters(result, is_bound=True)
    return PublicCall("__call__", form, parameters, is_async=is_async)


def methods_of(kind: type) -> list[str]:
    """Return the names of a class's public methods, and ``__enter__`` if its objects are good for a block."""
    blocks = {enter for enter, _, _ in _BLOCKS}
    functions = {name for base in kind.__mro__ for name, value in vars(base).items() if inspect.isfunction(value)}
    return sorted(name for name in functions if not name.startswith("_") or name in blocks)


def _own_calls(kind: type) -> Iterator[PublicCall]:
    for call in public_calls(kind, object()):
        declared: Any = inspect.getattr_static(kind, call.name.partition(".")[0])
        is_python = inspect.isfunction(inspect.unwrap(declared)) or isinstance(declared, property)
        if call.form in _FORMS and is_python and not call.is_inherited:
            yield call


def _opener(closing: str, calls: Sequence[PublicCall]) -> str:
    """Return the name of the call that a call undoes: only the thread that has called ``acquire`` may ``release``."""
    return next((call.name for call in calls if belong_together(call.name, closing)), "")


def _blocks_of(kind: type) -> Iterator[bool]:
    """Yield whether the block of an object is asynchronous; nothing if it is no object for blocks alone."""
    if any(not name.startswith("_") and callable(getattr(kind, name, None)) for name in dir(kind)):
        return
    for enter, leave, is_async in _BLOCKS:
        if hasattr(kind, enter) and hasattr(kind, leave):
            yield is_async


def _enter(name: str) -> str:
    return f"{name}.enter"


def _parts(call: PublicCall, blocks: Mapping[str, bool]) -> Iterator[PublicCall]:
    if call.name not in blocks:
        yield call
        return
    yield replace(call, name=_enter(call.name), form=Form.ENTER, is_async=blocks[call.name])
    yield PublicCall(f"{call.name}.exit", Form.EXIT, is_async=blocks[call.name])
