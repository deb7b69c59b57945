"""Canonical form of the shared state of a target: two forms are equal only if the target cannot distinguish the states.

Objects become a flat sequence of tokens, in the order of a walk from the roots. A mutable object gets a number, and is
represented by this number when the walk meets it again: aliasing counts, addresses do not. The order of dicts counts,
and the iteration order of sets. Functions count by their code, closures, defaults and attributes; objects of the
harness by their stamps; locks by whether they are free; RLocks by owner and count.

Objects with hidden state - iterators, generators, files, weak references - make a state opaque.
"""

from __future__ import annotations

import array
import collections
import functools
import gc
import types
from collections import deque
from collections.abc import Callable, Iterable
from types import CellType, FunctionType, MethodType
from typing import Any, Final

from kcache_model.stamped import Stamped

from ...engine.events import Channel
from ...runtime.threads.locks import VirtualLock, VirtualRLock
from ...runtime.threads.thread_module import ThreadHandle
from .readable import BASES, CONSTANTS, READ_BASE, THREAD_BOOKKEEPING, VALUES, VIEWS, is_readable, is_thread

_AGAIN: Final = object()
_CONSTANT_MARK: Final = object()
_EMPTY: Final = object()

Reader = Callable[[Any], None]


def _values_of(space: dict[object, object]) -> Iterable[object]:
    """The values of a dict; without the builtins of a namespace in which a text was executed: the sandbox's."""
    if "__builtins__" not in space:
        return space.values()
    return [value for name, value in space.items() if name != "__builtins__"]


class CanonicalState:
    """Reader of states. One object serves a search; :meth:`start` begins a new state.

    Attributes:
        tokens: the tokens of the state so far.
        numbers: id -> number of each mutable object, in the order of the walk.
        objects: the mutable objects, by number.
        opaque: the last object or structure, of any state, that could not be read; ``None`` if there was none.
    """

    def __init__(self) -> None:
        self.opaque: str | None = None
        self._retained: dict[int, object] = {}
        self._readers: dict[type, Reader] = {
            tuple: self._tuple,
            float: self._float,
            frozenset: self._collection,
            array.array: self._array,
            bytearray: self._array,
            collections.OrderedDict: self._subclass_of_dict,
            collections.Counter: self._subclass_of_dict,
            collections.defaultdict: self._defaultdict,
            deque: self._deque,
            FunctionType: self._function,
            MethodType: self._method,
            CellType: self._cell,
            types.BuiltinMethodType: self._builtin_method,
            types.MethodWrapperType: self._builtin_method,
            functools.partial: self._partial,
            **dict.fromkeys(VALUES, self._value),
            **dict.fromkeys(VIEWS, self._view),
        }
        self.start()

    def start(self) -> None:
        """Begin a new state."""
        self.tokens: list[object] = []
        self.numbers: dict[int, int] = {}
        self.objects: list[object] = []

    def read(self, roots: Iterable[object]) -> None:
        """Add the tokens of all objects that are reachable from ``roots``."""
        try:
            self._walk(roots)
        except RecursionError:
            self.opaque = "an object nested too deeply"

    def add_reader(self, kind: type, reader: Reader) -> None:
        """Let objects of exactly this type be read by ``reader``, which adds their tokens."""
        self._readers[kind] = reader

    def _walk(self, items: Iterable[object]) -> None:
        push, numbers, objects = self.tokens.append, self.numbers, self.objects
        for item in items:
            kind = type(item)
            if kind is str or kind is int or item is None:
                push(item)
                continue
            number = numbers.get(id(item))
            if number is not None:
                push(_AGAIN)
                push(number)
            elif kind is dict:
                numbers[id(item)] = len(objects)
                objects.append(item)
                push(dict)
                push(len(item))  # type: ignore[arg-type]
                self._walk(item)  # type: ignore[arg-type]
                self._walk(_values_of(item))  # type: ignore[arg-type]
            elif kind is set or kind is list:
                numbers[id(item)] = len(objects)
                objects.append(item)
                push(kind)
                push(len(item))  # type: ignore[arg-type]
                self._walk(item)  # type: ignore[arg-type]
            else:
                reader = self._readers.get(kind)
                if reader is None:
                    reader = self._readers[kind] = self._learn(kind)
                reader(item)

    def number(self, item: object) -> None:
        """Assign a number to a mutable object; add its type as its first token."""
        self.numbers[id(item)] = len(self.objects)
        self.objects.append(item)
        self.tokens.append(type(item))

    def _learn(self, kind: type) -> Reader:
        """Return the reader for objects of a type; called once per type."""
        if issubclass(kind, Stamped):
            return self._stamped
        if issubclass(kind, Channel):
            return self.number  # its items are read where they are
        if issubclass(kind, VirtualRLock):
            return self._rlock
        if issubclass(kind, (VirtualLock, ThreadHandle)):
            return self._lock
        if issubclass(kind, CONSTANTS) or kind.__module__ == "typing":
            return self._constant
        if not is_readable(kind):
            return self._opaque
        return self._reader_of_instances(kind)

    # Immutable objects.

    def _value(self, item: object) -> None:
        self.tokens += (type(item), item)

    def _float(self, item: float) -> None:
        self.tokens += (float, repr(item))

    def keep(self, item: object) -> None:
        """Keep an object alive that counts by its identity."""
        self._retained[id(item)] = item

    def _constant(self, item: object) -> None:
        self.keep(item)
        self.tokens += (_CONSTANT_MARK, id(item))

    def _tuple(self, item: tuple[object, ...]) -> None:
        self.tokens += (tuple, len(item))
        self._walk(item)

    def _method(self, item: MethodType) -> None:
        self.tokens.append(MethodType)
        self._walk((item.__func__, item.__self__))

    def _builtin_method(self, item: types.BuiltinMethodType) -> None:
        self.tokens += (type(item), item.__qualname__)
        self._walk((item.__self__,))

    def _view(self, item: object) -> None:
        self.tokens.append(type(item))
        self._walk(gc.get_referents(item))

    def _opaque(self, item: object) -> None:
        kind = type(item)
        self.opaque = f"{kind.__module__}.{kind.__qualname__}"
        self.tokens.append(kind)

    # Mutable objects.

    def _stamped(self, item: Stamped) -> None:
        self.number(item)
        self.tokens.append(item.stamp)

    def _lock(self, item: VirtualLock | ThreadHandle) -> None:
        self.number(item)
        self.tokens.append(1 if item.free else 0)

    def _rlock(self, item: VirtualRLock) -> None:
        self.number(item)
        self.tokens += (-1, 0) if item.free else (item.owner, item.count)

    def _function(self, item: FunctionType) -> None:
        code = item.__code__
        self._retained[id(code)] = code
        rest = (item.__closure__, item.__defaults__, item.__kwdefaults__, item.__dict__ or None)
        if rest == (None, None, None, None):
            self.tokens += (FunctionType, id(code))
            return
        self.number(item)
        self.tokens.append(id(code))
        self._walk(rest)

    def _cell(self, item: CellType) -> None:
        self.number(item)
        try:
            content = item.cell_contents
        except ValueError:
            self.tokens.append(_EMPTY)
        else:
            self._walk((content,))

    def _partial(self, item: functools.partial[object]) -> None:
        self.number(item)
        self._walk((item.func, item.args, item.keywords, vars(item)))

    def _collection(self, item: Any) -> None:
        self.number(item)
        self.tokens.append(len(item))
        self._walk(item)

    def _deque(self, item: deque[object]) -> None:
        self._collection(item)
        self.tokens.append(item.maxlen)

    def _array(self, item: Any) -> None:
        self.number(item)
        self.tokens += (getattr(item, "typecode", ""), bytes(item))

    def _subclass_of_dict(self, item: dict[object, object]) -> None:
        self.number(item)
        self.tokens.append(dict.__len__(item))
        self._walk(list(dict.keys(item)))
        self._walk(list(dict.values(item)))

    def _defaultdict(self, item: collections.defaultdict[object, object]) -> None:
        self._subclass_of_dict(item)
        self._walk((item.default_factory,))

    def _reader_of_instances(self, kind: type) -> Reader:
        """Return the reader for a class defined in Python: it reads attributes, slots and the built-in base."""
        base = next(base for base in kind.__mro__ if base in BASES)
        inherited = READ_BASE.get(base)
        slots = [
            member
            for owner in kind.__mro__
            if owner not in BASES
            for member in vars(owner).values()
            if isinstance(member, types.MemberDescriptorType)
        ]
        has_dict = kind.__dictoffset__ != 0
        skipped = THREAD_BOOKKEEPING if is_thread(kind) else frozenset()

        def read(item: Any) -> None:
            self.number(item)
            if inherited is not None:
                self._walk(inherited(item))
            if has_dict:
                attributes = object.__getattribute__(item, "__dict__")
                if skipped:
                    attributes = {name: value for name, value in attributes.items() if name not in skipped}
                self.tokens.append(len(attributes))
                self._walk(attributes)
                self._walk(attributes.values())
            for slot in slots:
                try:
                    self._walk((slot.__get__(item),))
                except AttributeError:
                    self.tokens.append(_EMPTY)

        return read
