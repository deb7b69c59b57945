"""Names and short texts for the objects of a target, computed without running code of the target.

The name of an object is the path that leads to it from the root, as ``indexer._indices['node']``. Because a write may
replace objects, the paths are computed again after each write. Objects that come and go, such as messages in a queue,
are numbered: their positions in a list would change with the next step.
"""

from __future__ import annotations

import itertools
import types
import weakref
from array import array
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import suppress

from kcache_model.foreign import is_a, is_any
from kcache_model.outcomes import with_short_floats
from kcache_model.stamped import Stamped

from ..engine.weak_objects import original, weakly
from ..instrument.containment import iterated
from ..runtime.threads.locks import VirtualLock, VirtualRLock
from ..runtime.world import PRIVATE_MODULES

_DEEPEST = 7
_MOST_VISITED = 200_000
"""Most objects visited in all walks. After that, the names in a long trace are not updated."""
_MOST_OBJECTS = 2_000
_MOST_CHILDREN = 50
_MOST_ELEMENTS = 4
_LONGEST_TEXT = 32

_SIMPLE = (type(None), bool, int, float, complex, str, bytes, type(...))
_SEQUENCES = (list, tuple, deque)
_SETS = (set, frozenset)
_CONTAINERS = (dict, *_SEQUENCES, *_SETS)
_LOCKS = (VirtualLock, VirtualRLock)
_LEAVES = (*_SIMPLE, Stamped, type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_METHODS = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, classmethod, staticmethod)
_BRACKETS: dict[type, str] = {list: "[]", tuple: "()", deque: "[]", set: "{}", frozenset: "{}"}

_NOTHING = object()
MISSING = "nothing"
"""The text for a missing value: a key that a dict does not have, an attribute that is not set."""


class Names:
    """Table of the names of objects.

    Args:
        called: the name of the root; empty if the names of its attributes have no prefix.
        enters_library: whether paths lead into objects of the library; an executor has dozens of them inside.

    Attributes:
        root: the object that the target has created; ``None`` before that.
    """

    def __init__(self, called: str, *, enters_library: bool = True) -> None:
        self.root: object = None
        self._enters_library = enters_library
        self._called = called
        self._modules: dict[int, Mapping[str, object]] = {}
        self._now: dict[int, str] | None = None
        self._lasting: frozenset[int] | None = None
        self._numbered: dict[int, str] = {}
        self._former: dict[int, str] = {}
        self._retained: dict[int, object] = {}
        self._counts: Counter[str] = Counter()
        self._threads: dict[int, tuple[object, str]] = {}
        self._visited = 0

    def forget(self) -> None:
        """Discard the computed paths after a write: they may lead to other objects now."""
        if self._visited < _MOST_VISITED:
            self._now = None

    def meet(self, namespace: Mapping[str, object]) -> None:
        """Let paths also begin in the globals of this module."""
        if id(namespace) not in self._modules:
            self._modules[id(namespace)] = namespace
            self._now = None

    def thread_starts(self, handle: object, number: int) -> None:
        """Name the handle of a thread and its Thread object after the number of its column from now on."""
        self._threads[id(handle)] = (handle, f"thread {number + 1}")

    def of(self, obj: object) -> str:
        """Return the name of an object; without a path to it, ``former`` and its old path, or its type and a number."""
        path = self._way_to(obj)
        if path is None:
            former = self._former.get(id(weakly(obj)))
            return self.numbered(obj) if former is None else f"former {former}"
        if "#" not in path and id(weakly(obj)) not in self._former and self._keep(obj):
            self._former[id(weakly(obj))] = path
        return path

    def text(self, value: object, depth: int = 0) -> str:
        """Return a value as a short text."""
        try:
            return self._text(value, depth)
        except Exception:  # a report must not fail, whatever the value is
            return type(value).__name__

    def _text(self, value: object, depth: int) -> str:
        kind = type(value)
        if is_a(value, float):
            return float.__repr__(with_short_floats(float.__pos__(value)))
        if kind in _SIMPLE:
            return _cut(repr(value))
        if is_a(value, Stamped):
            return value.label()
        if is_a(value, type):
            return value.__name__
        if is_any(value, (types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
            return f"{getattr(value, '__name__', '')}()".replace("<lambda>()", "a lambda")
        if kind in _BRACKETS or is_a(value, dict):
            return self._container(value, depth)
        name = self._way_to(value) or self.numbered(value)
        # Inside a container, the type is enough; the path of an element is left out.
        return name if depth == 0 or "#" in name or self._thread(value) else kind.__name__

    def _thread(self, obj: object) -> str | None:
        """Return the name ``thread N`` for the handle or the Thread object of a started thread; ``None`` for others."""
        if not self._threads:
            return None
        if id(obj) not in self._threads:
            if not any(owner.__name__ == "Thread" for owner in type(obj).__mro__):
                return None
            obj = attributes(obj).get("_handle")
        return self._threads.get(id(obj), (None, None))[1]

    def _container(self, value: object, depth: int) -> str:
        kind: type = type(value)
        size = dict.__len__(value) if is_a(value, dict) else len(value)  # type: ignore[arg-type]
        if is_a(value, dict):
            if size and depth > 1:
                return "{...}"
            items = itertools.islice(dict.items(value), _MOST_ELEMENTS)
            texts = [f"{self.text(key, depth + 1)}: {self.text(held, depth + 1)}" for key, held in items]
            opening, closing = "{", "}"
        else:
            if not size and kind in _SETS:
                return f"{kind.__name__}()"
            opening, closing = _BRACKETS[kind][0], _BRACKETS[kind][1]
            if size and depth > 1:
                return f"{opening}...{closing}"
            # The order of a set differs between processes.
            sample: Iterator[object] = itertools.islice(value, 100)  # type: ignore[call-overload]
            elements = [self.text(held, depth + 1) for held in sample]
            texts = (sorted(elements) if kind in _SETS else elements)[:_MOST_ELEMENTS]
        if size > len(texts):
            texts.append("...")
        comma = "," if kind is tuple and size == 1 else ""
        return f"{opening}{', '.join(texts)}{comma}{closing}"

    def _way_to(self, obj: object) -> str | None:
        if is_a(obj, type):
            return obj.__name__
        if type(obj) is dict and "__builtins__" in obj:
            return _module_name(obj)
        if is_a(obj, types.ModuleType):
            return _module_name(object.__getattribute__(obj, "__dict__"))
        thread = self._thread(obj)
        if thread is not None:
            return thread
        if self._now is None:
            self._now = self._walk()
        return self._now.get(id(obj))

    def numbered(self, obj: object) -> str:
        """Return the type of an object, or the name of a function, with a number; no number if it cannot be kept."""
        kind = obj.__name__ if is_a(obj, types.FunctionType) else type(obj).__name__
        key = id(weakly(obj))
        if key not in self._numbered:
            if not self._keep(obj):
                return kind
            self._counts[kind] += 1
            self._numbered[key] = f"{kind}#{self._counts[kind]}"
        return self._numbered[key]

    def _keep(self, obj: object) -> bool:
        """Keep an object alive so that its id is not reused, unless code observes its end; return whether it is."""
        alive = weakly(obj)
        with suppress(Exception):
            if alive is obj and (
                weakref.getweakrefcount(obj) or any("__del__" in owner.__dict__ for owner in type(obj).__mro__)
            ):
                return False
        self._retained[id(alive)] = alive
        return True

    def _walk(self) -> dict[int, str]:
        """Return id -> name of all reachable objects, nearest first."""
        names: dict[int, str] = {}
        queue: deque[tuple[object, str, int]] = deque()
        if self.root is not None:
            queue.append((self.root, self._called, 0))
        for namespace in self._modules.values():
            queue.extend((obj, name, 1) for name, obj in _globals(namespace))
        # Objects that were removed from a list are starts, too: paths lead on from them.
        numbered = [(original(self._retained[known]), name, 1) for known, name in self._numbered.items()]
        queue.extend(start for start in numbered if not (start[0] is None or is_any(start[0], _CONTAINERS)))
        while queue and len(names) < _MOST_OBJECTS:
            obj, name, depth = queue.popleft()
            if id(obj) in names or is_any(obj, _LEAVES) or _is_of_pytest(type(obj)):
                continue  # a request of pytest refers to everything
            names[id(obj)] = name
            if depth < _DEEPEST and not is_any(obj, _LOCKS) and (self._enters_library or not is_library(obj)):
                queue.extend(
                    (held, self._through(obj, name, suffix, held), depth + 1) for suffix, held in _children(obj)
                )
        if self._lasting is None:
            self._lasting = frozenset(names)
        self._visited += len(names)
        return names

    def _through(self, obj: object, name: str, suffix: str, held: object) -> str:
        passing = self._lasting is not None and is_any(obj, _SEQUENCES) and id(held) not in self._lasting
        if passing and not is_any(held, _LEAVES):
            return self.numbered(held)
        return name + suffix if name else suffix.removeprefix(".")


def _is_of_pytest(kind: type) -> bool:
    return str(type.__getattribute__(kind, "__module__")).startswith("_pytest.")


def peek(obj: object, slot: object) -> object:
    """Return the value of an object in a slot, without running code of the target.

    Raises:
        LookupError: the slot has no value.
    """
    if is_attribute(obj, slot):
        return attributes(obj)[str(slot)]
    if is_a(obj, dict):
        value = obj if slot is None else dict.get(obj, slot, _NOTHING)  # `__missing__` would create an item
        if value is _NOTHING:
            raise KeyError(slot)
        return value
    if is_a(obj, list) and type(slot) is int:
        return list.__getitem__(obj, slot)
    if is_a(obj, deque) and type(slot) is int:
        return deque.__getitem__(obj, slot)
    if is_any(obj, (list, deque, set, frozenset, bytearray, array)) or slot is None:
        return obj
    name = str(slot)
    if is_a(obj, type):
        return obj.__dict__[name]
    return attributes(obj)[name]


def is_attribute(obj: object, slot: object) -> bool:
    """Whether a slot of a container is an attribute, which objects of a subclass may have beside their items."""
    if type(slot) is not str or type(obj).__module__ == "builtins":
        return False
    is_container = is_any(obj, (dict, list, deque, set, frozenset, bytearray, array))
    return is_container and not (is_a(obj, dict) and dict.__contains__(obj, slot)) and slot in attributes(obj)


def attributes(obj: object) -> dict[str, object]:
    """Return the attributes of an object, including attributes in ``__slots__``."""
    values: dict[str, object] = {}
    kind = type(obj)
    for owner in reversed(kind.__mro__):
        for name, descriptor in owner.__dict__.items():
            if type(descriptor) is types.MemberDescriptorType:
                with suppress(AttributeError):
                    values[name] = descriptor.__get__(obj, kind)
    with suppress(AttributeError, TypeError):
        values.update(object.__getattribute__(obj, "__dict__"))
    return values


def is_method(obj: object, slot: object) -> bool:
    """Whether the name is a method of the class of an object, or of a class itself, and the object does not hide it."""
    name = str(slot)
    if is_a(obj, type):
        attribute = obj.__dict__.get(name)
    elif name in attributes(obj) or (is_a(obj, dict) and dict.__contains__(obj, slot)):
        return False
    else:
        attribute = next((owner.__dict__[name] for owner in type(obj).__mro__ if name in owner.__dict__), None)
    return is_any(attribute, _METHODS)


def is_library(obj: object) -> bool:
    """Whether an object is of the library, as an Event, a Condition or a Queue: its inside is not shown."""
    return type(obj).__module__ in PRIVATE_MODULES


def _children(obj: object) -> Iterator[tuple[str, object]]:
    if is_a(obj, dict):
        for key, held in itertools.islice(list(dict.items(obj)), _MOST_CHILDREN):
            if type(key) in _SIMPLE:
                yield f"[{_cut(repr(key))}]", held
    elif is_any(obj, _SEQUENCES):
        for position, held in enumerate(itertools.islice(list(iterated(obj)), _MOST_CHILDREN)):
            yield f"[{position}]", held
    elif type(obj).__name__ != "Thread":
        hidden = is_library(obj)  # its parts have the name of the whole
        for name, held in itertools.islice(attributes(obj).items(), _MOST_CHILDREN):
            yield "" if hidden else f".{name}", held


def _globals(namespace: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    module = namespace.get("__name__")
    for name, obj in list(namespace.items()):
        if name.startswith(("__", "_kc_")):
            continue
        if is_a(obj, type):
            if obj.__module__ == module:
                for attribute, held in list(obj.__dict__.items()):
                    if not attribute.startswith("__") and not any(
                        "__get__" in owner.__dict__ for owner in type(held).__mro__
                    ):
                        yield f"{obj.__name__}.{attribute}", held
        elif getattr(type(obj), "__module__", "") not in ("typing", "__future__"):
            yield f"{_module_name(namespace)}.{name}", obj


def _module_name(namespace: Mapping[str, object]) -> str:
    return str(namespace.get("__name__", "?")).removeprefix("kcache_target_").rpartition(".")[2]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 3] + "..."
