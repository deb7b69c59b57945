"""Objects that calls return: their methods and their ``with`` blocks are calls, too.

A lock of a read-write lock, a subscription or a lease is a part of its class: a race may lie in it alone. Its methods
are called only if its class belongs to the package of the class under test, because anything else has its own tests.

Alternative: one target for each class of such objects. But two locks that must exclude each other, and the object from
which they come, are three objects; such a target would see one of them.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from kcache_model.object_types.method_call import Form, MethodCall, result_name
from kcache_model.object_types.vocabulary import OperationTemplate

from .pairs import belong_together
from .public_calls import PublicCall, public_calls
from .sparing import Sparing

_BLOCKS: Final = (("__enter__", "__exit__", False), ("__aenter__", "__aexit__", True))
"""The methods of an object for a block, and whether the block is asynchronous."""
_MOST_METHODS: Final = 12
"""The most calls of one returned object. More, as a database connection has, would crowd out those of the class."""
_MOST_CALLS: Final = 24
"""The most calls of all returned objects."""
_WEIGHT: Final = 0.5
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
    """Return what calls return on a new object, without ``None``; calls that take results of others are not made."""
    firsts = [next(template.smallest(0)) for template in templates]
    wanted = [call for call in firsts if call.form in (Form.CALL, Form.READ, Form.ENTER) and not call.needs]
    results = ((call, tries.result((call,))) for call in wanted if call.is_write)
    return {call: result for call, result in results if result is not None}


def calls_on_results(kind: type, results: Mapping[MethodCall, object]) -> list[PublicCall]:
    """Return the public calls of the objects that calls of a class return.

    Args:
        kind: the class.
        results: what its calls return.
    """
    on_results: list[PublicCall] = []
    known: set[type] = set()
    for producer, result in results.items():
        of = type(result)
        if producer.form is Form.READ and of in known:  # most such attributes are two names of one object
            continue
        known.add(of)
        is_own = is_other_class(of, kind) and _package(of) == _package(kind)
        own = [*_own_calls(of)] if is_own else []
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


def is_other_class(of: type, kind: type) -> bool:
    """Whether a class is neither ``kind``, nor one that inherits from it, nor of the standard library."""
    # Results are of private copies of classes, so these are compared by their names.
    names = ((base.__module__, base.__qualname__) for base in of.__mro__)
    return (kind.__module__, kind.__qualname__) not in names and _package(of) not in sys.stdlib_module_names


def _package(kind: type) -> str:
    return kind.__module__.partition(".")[0]


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
