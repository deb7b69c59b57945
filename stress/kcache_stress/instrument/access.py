"""Hooks of single accesses: subscripts, truth, comparison, iteration, attributes of classes."""

import sys
import types
from collections.abc import Callable, Iterable, Iterator
from decimal import DefaultContext
from functools import cached_property
from gc import get_referents
from typing import Any

from ..engine.events import Pending, unite
from ..knowledge import tables
from ..knowledge.code_in_c import is_inert
from ..knowledge.tables import CONTAINERS, DEFAULTS, INDEXED, KEYED, PLAIN, WRITE
from .containment import atoms, beneath, has_variables, instance_variables, is_atom, is_simple
from .reporting import Accesses


def _hashes(item: Any) -> bool:
    """Whether the object is a set or dict with elements that are no atoms, which its operators hash."""
    if not issubclass(type(item), (set, frozenset, dict)) or atoms.issuperset(map(type, item)):
        return False
    return not all(is_atom(type(element)) for element in item)


class Steps:
    """Wrapper of an iterator in C that reports before each step; like the iterator, it has no `send` or `throw`."""

    __slots__ = ("_iterator", "_touch")

    def __init__(self, iterator: Iterator[object], touch: Callable[[], None]) -> None:
        self._iterator, self._touch = iterator, touch

    def __iter__(self) -> Iterator[object]:
        return self

    def __next__(self) -> object:
        self._touch()
        return next(self._iterator)


def access_hooks(accesses: Accesses, pause: Callable[[], None]) -> dict[str, Callable[..., Any]]:
    """Create the hooks; they close over local names because these are the fastest to look up."""
    report, quiet, touch = accesses.report, accesses.quiet, accesses.touch
    known, learn, plain, native = accesses.methods.get, accesses.learn, PLAIN, frozenset(CONTAINERS)
    foreign_code, key_slot, use, report_all = (
        accesses.foreign_code,
        accesses.key_slot,
        accesses.use,
        accesses.report_all,
    )

    def read(item: object) -> None:
        """Report a read of the whole `item`: truth, length, text, unpacking."""
        kind = type(item)
        if kind in native:
            report(item, None, 0)
        elif kind in tables.VIEWS:
            report(get_referents(item)[0], None, 0)
        elif kind not in quiet:
            touch(item)

    def deep(item: object) -> None:
        """Report a read of the whole `item` and of its elements, as printing it does."""
        accesses.use((item,))

    def mapping(item: object) -> None:
        """Report the conversion of `item` to a dict: a dict is copied; the elements of other objects are read, too."""
        if issubclass(type(item), dict):
            read(item)
        else:
            deep(item)

    def within(*items: object) -> None:
        """Report reads of the elements of objects that no other thread can know."""
        for item in items:
            if not (type(item) in native and is_simple(item)):
                accesses.look_within(items)
                return

    def of_new(container: object, *arguments: object) -> None:
        """Report a method call on an object that no other thread can know; other threads may know the arguments."""
        copies = all(issubclass(type(argument), dict) for argument in arguments)
        use(arguments, looks=bool(arguments) and not copies, new=(container,))

    def pair(left: object, right: object) -> None:
        """Report a read of both in one step, for an operation that reads their elements only to hash them."""
        both(left, right, looks=_hashes(left) or _hashes(right))

    def compare(left: object, right: object) -> None:
        """Report a read of both and of their elements in one step."""
        both(left, right, looks=True)

    def both(left: object, right: object, *, looks: bool) -> None:
        items = (left,) if left is right else (left, right)
        if is_inert(type(left)):
            use(items, looks=looks)
        else:  # its own method in Python reports its accesses
            for item in items:
                read(item)

    def inplace(target: object, value: object) -> None:
        kind = type(target)
        if kind in quiet:
            read(value)
        elif known(kind) or learn(kind):
            accesses.use_container(target, 1, (value,), looks=False)
        else:
            pair(target, value)

    def subscript(item: object, key: object, name: str) -> None:
        kind = type(item)
        methods = known(kind)
        if methods is None:
            methods = learn(kind)
        access = methods.get(name)
        if access is None:
            if not methods and kind not in quiet:
                touch(item, int(name != "__getitem__"))
            return
        slot: object = None
        if access & KEYED:
            slot = key if type(key) in plain else key_slot(key)
            if access & DEFAULTS:
                _default(item, key, slot)
                return
        elif access & INDEXED and type(key) is int:
            slot = key if key >= 0 else key + len(item)  # type: ignore[arg-type]
        report(item, slot, access & WRITE)

    def _default(item: Any, key: object, slot: object) -> None:
        # A missing key is stored: if the key was deleted while this thread waited, the read has become a write.
        if key in item:
            report(item, slot, 0)
            if key in item:
                return
        accesses.report_default(item, slot)

    def getitem(item: object, key: object) -> None:
        if type(item) is dict:
            report(item, key if type(key) in plain else key_slot(key), 0)
        else:
            subscript(item, key, "__getitem__")

    def setitem(item: object, key: object) -> None:
        if type(item) is dict:
            report(item, key if type(key) in plain else key_slot(key), 1)
        else:
            subscript(item, key, "__setitem__")

    def delitem(item: object, key: object) -> None:
        subscript(item, key, "__delitem__")

    def contains(key: object, item: object) -> None:
        kind = type(item)
        if kind is dict or kind is set:
            report(item, key if type(key) in plain else key_slot(key), 0)
            return
        methods = known(kind)
        if methods is None:
            methods = learn(kind)
        if methods:
            access = methods.get("__contains__")
            if access is not None:
                if access & KEYED:
                    report(item, key_slot(key), 0)
                else:
                    accesses.use_container(item, 0, (key,), looks=True)
        elif kind is tuple or kind in tables.VIEWS:
            compare(key, item)
        elif kind not in quiet:
            touch(item)

    def steps(item: Any, touch: Callable[[], None], first: bool) -> Iterator[object]:
        """Report before each step; `first`: also before the first step, which may come later than the start."""
        if first:
            touch()
        for element in item:
            yield element
            touch()

    def single(item: Any, container: object, first: bool) -> Iterator[object]:
        """Do the same as `steps` for one container that is only read."""
        if first:
            report(container, None, 0)
        for element in item:
            yield element
            report(container, None, 0)

    def stepwise(generator: Any) -> Iterator[object]:
        while True:
            accesses.resume(generator)
            try:
                element = next(generator)
            except StopIteration:
                return
            yield element

    def resumed(value: object = None) -> object:
        """Report the continuation of the running generator, and of those that delegate to it; pass `value` on."""
        pause()
        generators, accesses.resumed = accesses.resumed, ()
        accesses.report_step(tuple((1, generator, None) for generator in generators))
        return value

    def delegate(item: Any) -> Any:
        """Return the iterator for `yield from`; `send`, `throw` and `close` still reach a generator itself."""
        kind = type(item)
        if kind is types.GeneratorType:
            accesses.resume(item)  # from the next step on, it is reported together with the outer generator
            return item
        if kind in quiet or ((methods := known(kind) or learn(kind)) and "__iter__" not in methods):
            return item
        if kind in tables.ITERATORS:
            return Steps(item, lambda: touch(item))
        return Steps(iter(item), lambda: touch(item)) if next(beneath(item), None) is not None else item

    def foreign(item: Any, kind: type, fresh: int, first: bool) -> Any:
        """Start an iteration over an object that is no container, but may read containers, as a `map` does."""
        if kind in tables.ITERATORS and not fresh:
            return Steps(item, lambda: touch(item))
        containers = list(beneath(item))
        if not containers:
            return item
        if len(containers) == 1 and not containers[0][1] and kind not in tables.PROCESSORS:  # as below, which is slower
            container = containers[0][0]
            report(container, None, 0)
            return single(iter(item), container, first)

        def find() -> list[Pending]:
            found = beneath(item) if kind in tables.PROCESSORS else containers
            return [(writes, container, None) for container, writes in found]

        report_all(find)
        return steps(iter(item), lambda: report_all(find), first)

    def iterate(item: Any, fresh: int = 0) -> Any:
        """Start a loop: the start and the first step are one access, unless the start stores the container's size."""
        kind = type(item)
        if kind in tables.VIEWS:
            container = get_referents(item)[0]
            report(container, None, 0)
            return single(iter(item), container, True)
        if kind in quiet:
            return item
        if kind is types.GeneratorType:
            return stepwise(item)
        methods = known(kind)
        if methods is None:
            methods = learn(kind)
        if methods:
            if "__iter__" not in methods:
                return item
            report(item, None, 0)
            return single(iter(item), item, issubclass(kind, tables.SIZED))
        return foreign(item, kind, fresh, False)

    def lazy(item: Any, fresh: int = 0) -> Any:
        """Start an iteration whose first step may come later."""
        kind = type(item)
        if kind in tables.VIEWS:
            return iterate(item)
        if kind in quiet or ((methods := known(kind) or learn(kind)) and "__iter__" not in methods):
            return item
        return foreign(item, kind, fresh, True)

    def turns(item: Iterable[object], enters: bool) -> Iterator[object]:
        """Iterate over the source of a comprehension, with a pause before each step but the first.

        Before Python 3.12, comprehensions are functions, at whose start threads may be switched: `enters` adds that
        pause.
        """
        if enters:
            pause()
        for element in item:
            yield element
            pause()

    def namespace(item: Any) -> None:
        """Report that code obtains the dictionary of an object: from now on, the two count as one object."""
        if issubclass(type(item), type):
            unite(item, get_referents(item.__dict__)[0])
        elif type(item) is types.ModuleType:
            foreign_code.doubt(f"accesses the dictionary of the module {item.__name__}", is_seen=True)
        elif "_kcache_local" in instance_variables(item):
            foreign_code.doubt("accesses the dictionary of thread-local data")
        elif has_variables(item):
            unite(item, instance_variables(item))
        else:
            report(item, accesses.imprecise("reads all attributes"), 0)

    def rebind(item: Any, variables: object) -> None:
        """Report the replacement of an object's dictionary; to be safe, old and new count as one object."""
        if type(variables) is dict and has_variables(item):
            unite(item, instance_variables(item))
            report(item, accesses.imprecise("exchanges all attributes"), 1)
            unite(item, variables)

    def reflect(item: object, name: str) -> None:
        """Record the use of an attribute that exposes internals of Python."""
        del item
        foreign_code.doubt(f"uses {name}", is_seen=name not in tables.UNSEEN_ATTRIBUTES)

    def by_name(item: Any, name: str, write: int) -> None:
        """Report the access to an attribute whose name is computed, as by `getattr`."""
        if name == "__dict__" and not write:
            namespace(item)
        elif name in (tables.REFLECTIVE if write else tables.REFLECTIVE_READS):
            reflect(item, name)
        elif write:
            setattribute(item, name)
        else:
            attribute(item, name)

    def match(item: object, is_nested: bool) -> None:
        """Report the comparison of an object with patterns, which read its content; nested ones that of its parts."""
        read(item)
        if type(item) not in plain and not (type(item) in native and all(type(part) in plain for part in list(item))):  # type: ignore[call-overload]
            report(item, accesses.imprecise("matches an object with patterns"), 0)
            accesses.look_through((item,))
            if is_nested:
                foreign_code.enter(sys._getframe(1), "matches with nested patterns", (item,), is_contained=True)

    def attribute(item: Any, name: str) -> None:
        """Report the read of an attribute that may be stored on the class, as an access to the object that holds it."""
        if type(item) is types.ModuleType:
            report(item.__dict__, name, 0)
            return
        found: list[Pending] = []
        is_class = issubclass(type(item), type)
        if is_class or name not in instance_variables(item):
            for owner in (item if is_class else type(item)).__mro__ or ():
                held = owner.__dict__.get(name)
                if held is not None or name in owner.__dict__:
                    if type(held) is cached_property and item is not owner:
                        found.append((1, item, name))  # the first look-up stores the value
                    elif type(held) is not types.MemberDescriptorType and type(held) is not property:
                        found.append((0, owner, name))
                    break
        if not is_class and not (found and found[0][1] is item):
            found.append((0, item, name))
        accesses.report_step(tuple(found))

    def setattribute(item: Any, name: str) -> None:
        if issubclass(type(item), (type, types.ModuleType)):  # isinstance reads __class__, a property of proxies
            foreign_code.rebinds(name)
            if (
                name.startswith("__")
                and name.endswith("__")
                and name != "__init__"
                and type(item) is not types.ModuleType
            ):
                # Operators and code in C look these methods up in the class without a report.
                foreign_code.doubt(f"binds the special method {name} of a class", is_seen=True)
        if item is DefaultContext:
            foreign_code.doubt("changes decimal.DefaultContext, which each thread copies without a visible access")
        if type(item) is types.ModuleType and item.__name__ == "builtins":  # the one of the sandbox
            foreign_code.doubt(f"binds the builtin {name}", is_seen=True)
        report(item.__dict__ if type(item) is types.ModuleType else item, name, 1)

    hooks = (read, pair, deep, within, mapping, of_new, compare, inplace, getitem, setitem, delitem, contains)
    stepping = (iterate, turns, lazy, accesses.advance, resumed, delegate)
    reflecting = (attribute, namespace, setattribute, rebind, reflect, by_name, match)
    return {hook.__name__: hook for hook in (*hooks, *stepping, *reflecting)}
