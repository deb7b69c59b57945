"""Shared state of all objects of a class: globals of its modules, and attributes of the classes there.

Each run of calls starts with a new object. Shared state would keep the changes of the previous run, so the results of a
run would depend on earlier runs. Therefore the state is recorded before the first object is created, and restored
before each further object: names are bound again, and containers get their contents back, in place.

``itertools.count`` starts again, and caches of ``functools`` are cleared. Locks, threads, other iterators, and objects
of other modules keep their state: it cannot be restored from outside.
"""

from __future__ import annotations

import ast
import collections
import functools
import inspect
import itertools
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import is_
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final, cast

from .foreign import own_attributes
from .target_name import Applied

_KEY: Final = "__kcache_shared_state__"
"""The name of the global with the record of a module: each private copy of a module has a record of its own."""
_MOST_PARTS: Final = 2_000
"""The maximum number of objects, and of containers, that are recorded per module: all are compared before each run."""
_KEPT: Final = frozenset({"_abc_impl"})
_INSTRUMENTED: Final = "_kc_"
"""The prefix of the names that the explorer adds to instrumented modules."""
_IS_PLAIN_COUNT: Final = re.compile(r"count\([-+.\d]+(, [-+.\d]+)?\)")
"""The ``repr`` of a counter with plain numbers, which is recorded: counters cannot be copied since Python 3.14."""
_NOTHING: Final = object()
_SEQUENCES: Final = (list, collections.deque, set)
_WITHOUT_STATE: Final = frozenset(
    {
        *(bool, int, float, complex, str, bytes, type(None), property, staticmethod, classmethod, ModuleType),
        *(FunctionType, BuiltinFunctionType, MethodType, MethodDescriptorType, WrapperDescriptorType),
        *(GetSetDescriptorType, MemberDescriptorType, re.Pattern),
    }
)
"""Types of most values, of which nothing is recorded: found out with one look-up."""
_MAPPINGS: Final = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)


class SharedState:
    """The state of one module.

    Args:
        space: the globals of the module.
        but: names of globals and attributes that are neither recorded nor restored.

    Attributes:
        has_changed: whether :meth:`restore` has ever found a change.
    """

    def __init__(self, space: dict[str, Any], but: frozenset[str] = frozenset()) -> None:
        self.has_changed = False
        self._but = but
        self._module = space["__name__"]
        self._owners: dict[int, tuple[Any, dict[str, object]]] = {}
        self._all: dict[int, tuple[list[object], list[object]]] = {}
        self._containers: dict[int, tuple[Any, list[object]]] = {}
        self._counts: list[tuple[Any, str, str]] = []
        self._caches: list[functools._lru_cache_wrapper[Any]] = []
        self._record_owner(space, space)

    def restore(self) -> None:
        """Undo all changes of the recorded state since this object was created."""
        for owner, then in self._owners.values():
            self._restore_names(owner, then)
        for container, then_within in self._containers.values():
            if not _is_same(_contents(container), then_within):
                self.has_changed = True
                _refill(container, then_within)
        for cache in self._caches:
            if cache.cache_info().currsize:
                self.has_changed = True
                cache.cache_clear()
        for owner, name, text in self._counts:
            then = self._owners[id(owner)][1]
            if repr(then[name]) != text:
                self.has_changed = True
                then[name] = itertools.count(*ast.literal_eval(f"{text.removeprefix('count')[:-1]},)"))
                _bind(owner, name, then[name])

    def changes(self) -> Iterator[Callable[[], None]]:
        """Yield for each changed name or container a function that undoes the change, if it still exists then.

        Counters and caches are not included.
        """
        for owner, then in self._owners.values():
            space = _space_of(owner)
            if self._is_as_seen(owner, space):
                continue
            now = self._named(space)
            for name in now.keys() | then.keys():
                if now.get(name, _NOTHING) is not then.get(name, _NOTHING):
                    yield partial(_put_back, owner, name, now.get(name, _NOTHING), then.get(name, _NOTHING))
        for container, then_within in self._containers.values():
            now_within = _contents(container)
            if not _is_same(now_within, then_within):
                yield partial(_take_out, container, now_within, then_within)

    def _restore_names(self, owner: Any, then: dict[str, object]) -> None:
        space = _space_of(owner)
        if self._is_as_seen(owner, space):
            return
        self._restore_counting(owner, space, then)
        self._all[id(owner)] = [*space], [*space.values()]

    def _is_as_seen(self, owner: Any, space: Any) -> bool:
        """Whether all names have the values that were seen last: nearly always; to filter the names takes long."""
        names, values = self._all[id(owner)]
        return names == [*space] and _is_same([*space.values()], values)

    def _restore_counting(self, owner: Any, space: Any, then: dict[str, object]) -> None:
        """Restore the names that count."""
        now = self._named(space)
        if now.keys() == then.keys() and all(map(is_, now.values(), map(then.__getitem__, now))):
            return
        self.has_changed = True
        for name in now.keys() | then.keys():
            if name not in then:
                _unbind(owner, name)
            elif now.get(name, _KEY) is not then[name]:
                _bind(owner, name, then[name])

    def _named(self, space: Any) -> dict[str, object]:
        """The names of a space that count, and their values: not modules, nor what the interpreter or kcache adds."""
        but, hidden = self._but, ("__", _INSTRUMENTED)
        return {
            name: value
            for name, value in list(space.items())
            if not issubclass(type(value), ModuleType)
            and isinstance(name, str)
            and not name.startswith(hidden)
            and name not in _KEPT
            and name not in but
        }

    def _record_owner(self, owner: Any, space: Any) -> None:
        if id(owner) not in self._owners and len(self._owners) < _MOST_PARTS:
            names = self._named(space)
            self._owners[id(owner)] = owner, names
            self._all[id(owner)] = [*space], [*space.values()]
            self._record_all(names.values())
            counts = ((name, repr(value)) for name, value in names.items() if type(value) is itertools.count)
            self._counts += ((owner, name, text) for name, text in counts if _IS_PLAIN_COUNT.fullmatch(text))

    def _record_all(self, values: Iterable[object]) -> None:
        for value in values:
            kind: type = type(value)
            if kind in _WITHOUT_STATE:
                continue
            if kind in _SEQUENCES or kind in _MAPPINGS:
                if id(value) not in self._containers and len(self._containers) < _MOST_PARTS:
                    contents = _contents(value)
                    self._containers[id(value)] = value, contents
                    self._record_all(contents)
            elif kind is functools._lru_cache_wrapper:
                self._caches.append(value)  # type: ignore[arg-type]
            elif kind is tuple:
                self._record_all(value)  # type: ignore[arg-type]
            elif issubclass(kind, type):
                if own_attributes(value).get("__module__") == self._module:
                    self._record_owner(value, own_attributes(value))
            elif kind.__module__ == self._module and own_attributes(value):
                self._record_owner(value, own_attributes(value))


def shared_states(factory: Callable[[], Any]) -> list[SharedState]:
    """Return the states of the modules of a class and its bases; each is recorded at the first request."""
    states: dict[int, SharedState] = {}
    for space in _spaces_of(factory.func if isinstance(factory, Applied) else factory):
        if _KEY not in space:
            space[_KEY] = SharedState(space)
        states[id(space)] = space[_KEY]
    return list(states.values())


def _spaces_of(factory: object) -> Iterator[dict[str, Any]]:
    """Yield the globals of the modules of a class and its bases, or the globals of a function that creates objects."""
    functions = [factory]
    if isinstance(factory, type):
        functions = [
            function
            for base in factory.__mro__
            for value in own_attributes(base).values()
            for function in _functions_of(value)
            if function.__module__ == base.__module__
        ]
    for function in functions:
        if isinstance(function, FunctionType):
            package = str(function.__globals__.get("__name__", "builtins")).partition(".")[0]
            if package not in sys.stdlib_module_names:  # the interpreter itself needs this state
                yield function.__globals__


def _functions_of(value: object) -> Iterator[FunctionType]:
    if isinstance(value, property):
        yield from (one for one in (value.fget, value.fset, value.fdel) if isinstance(one, FunctionType))
        return
    plain = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
    if isinstance(plain, FunctionType):
        inner = inspect.unwrap(plain)
        if isinstance(inner, FunctionType):
            yield inner


def _space_of(owner: Any) -> Any:
    """Return the names of a module, a class or an object; a module is represented by the dict of its globals."""
    return owner if type(owner) is dict else own_attributes(owner)


def _contents(container: Any) -> list[object]:
    """Return the elements of a container; for a mapping, the keys, then the values."""
    return [*container, *container.values()] if isinstance(container, _MAPPINGS) else [*container]


def _is_same(now: list[object], then: list[object]) -> bool:
    return len(now) == len(then) and all(map(is_, now, then))


def _refill(container: Any, contents: list[object]) -> None:
    container.clear()
    if issubclass(type(container), _MAPPINGS):
        half = len(contents) // 2
        for key, value in zip(contents[:half], contents[half:], strict=True):
            container[key] = value  # Counter.update() would add counts, dict.update() loses the order of OrderedDict
    elif isinstance(container, set):
        container.update(contents)
    else:
        container.extend(contents)


def _put_back(owner: Any, name: str, now: object, then: object) -> None:
    """Bind a name to its former value ``then``, or unbind it, unless its value is no longer ``now``."""
    space = _space_of(owner)
    if space.get(name, _NOTHING) is not now:
        return
    if then is _NOTHING:
        _unbind(owner, name)
    else:
        _bind(owner, name, then)


def _take_out(container: Any, now: list[object], then: list[object]) -> None:
    """Undo the change of a container from ``then`` to ``now``; keep elements that were added after ``now``."""
    if _is_same(_contents(container), now):
        _refill(container, then)
    elif isinstance(container, _MAPPINGS):
        before, come = (dict(zip(some[: len(some) // 2], some[len(some) // 2 :], strict=True)) for some in (then, now))
        for key in come:
            if container.get(key, _NOTHING) is come[key] is not before.get(key, _NOTHING):
                container.pop(key)
        container |= {key: value for key, value in before.items() if key not in container}
    else:
        known = set(map(id, now)) - set(map(id, then))
        _refill(container, [one for one in container if id(one) not in known])


def _bind(owner: Any, name: str, value: object) -> None:
    if type(owner) is dict:
        owner[name] = value
    elif isinstance(owner, type):
        type.__setattr__(owner, name, value)
    else:
        cast("dict[str, Any]", own_attributes(owner))[name] = value


def _unbind(owner: Any, name: str) -> None:
    if type(owner) is dict:
        del owner[name]
    elif isinstance(owner, type):
        type.__delattr__(owner, name)
    else:
        del cast("dict[str, Any]", own_attributes(owner))[name]
