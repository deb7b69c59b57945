"""The hooks of single accesses: subscripts, truth, comparison, iteration, attributes of classes."""

import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from decimal import DefaultContext
from functools import cached_property
from gc import get_referents
from typing import Any

from ..engine.events import Pending, unite
from .containment import LOOKING, atoms, beneath, has_variables, instance_variables, is_atom, is_simple
from .knowledge import is_inert
from .reporting import Accesses
from .tables import CONTAINERS, DEFAULTS, INDEXED, ITERATORS, KEYED, PLAIN, REFLECTIVE, REFLECTIVE_READS, VIEWS, WRITE


def _hashes(item: Any) -> bool:
    """Whether the operators of an object hash elements that are no atoms."""
    if not issubclass(type(item), (set, frozenset, dict)) or atoms.issuperset(map(type, item)):
        return False
    return not all(is_atom(type(element)) for element in item)


class Steps:
    """An iterator of C that reports before each step; it has no `send`, `throw` or `close` either."""

    __slots__ = ("_iterator", "_touch")

    def __init__(self, iterator: Iterator[object], touch: Callable[[], None]) -> None:
        self._iterator, self._touch = iterator, touch

    def __iter__(self) -> Iterator[object]:
        return self

    def __next__(self) -> object:
        self._touch()
        return next(self._iterator)


_SIZED = (dict, set, deque)
"""The containers whose iterators notice when their size has changed since they began."""


def access_hooks(accesses: Accesses, pause: Callable[[], None]) -> dict[str, Callable[..., Any]]:
    """Make the hooks; they close over local names because that is the fastest way to reach them."""
    report, quiet, touch = accesses.report, accesses.quiet, accesses.touch
    known, learn, plain, native = accesses.methods.get, accesses.learn, PLAIN, frozenset(CONTAINERS)
    foreign_code, key_slot, use, report_all = (
        accesses.foreign_code,
        accesses.key_slot,
        accesses.use,
        accesses.report_all,
    )

    def read(item: object) -> None:
        """Use all of `item`: truth, length, text, unpacking."""
        kind = type(item)
        if kind in native:
            report(item, None, 0)
        elif kind in VIEWS:
            report(get_referents(item)[0], None, 0)
        elif kind not in quiet:
            touch(item)

    def deep(item: object) -> None:
        """Use all of `item`, and look at its elements: show them."""
        accesses.use((item,))

    def mapping(item: object) -> None:
        """Make a dict of `item`: of a mapping that is a copy."""
        if issubclass(type(item), dict):
            read(item)
        else:
            deep(item)

    def within(*items: object) -> None:
        """Look at the elements of what nobody else can know."""
        for item in items:
            if not (type(item) in native and is_simple(item)):
                accesses.look_within(items)
                return

    def of_new(container: object, *arguments: object) -> None:
        """Call a method of what nobody else can know, with what others may know."""
        copies = all(issubclass(type(argument), dict) for argument in arguments)
        use(arguments, looks=bool(arguments) and not copies, new=(container,))

    def pair(left: object, right: object) -> None:
        """Use both at once, in an operation that looks at their elements only to hash them."""
        both(left, right, looks=_hashes(left) or _hashes(right))

    def compare(left: object, right: object) -> None:
        """Use both at once, and look at their elements."""
        both(left, right, looks=True)

    def both(left: object, right: object, *, looks: bool) -> None:
        items = (left,) if left is right else (left, right)
        if is_inert(type(left)):
            use(items, looks=looks)
        else:  # its own method says what it does
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
        # a missing key is stored: if it was deleted while this thread waited, the read has become a write
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
        elif kind is tuple or kind in VIEWS:
            compare(key, item)
        elif kind not in quiet:
            touch(item)

    def steps(item: Any, touch: Callable[[], None], first: bool) -> Iterator[object]:
        """Report before each step; the first one too unless it follows at once on the report of the start."""
        if first:
            touch()
        for element in item:
            yield element
            touch()

    def single(item: Any, container: object, first: bool) -> Iterator[object]:
        """Do the same for one container that is only read."""
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
        """Go on in a generator."""
        pause()
        generators, accesses.resumed = accesses.resumed, ()
        accesses.report_step(tuple((1, generator, None) for generator in generators))
        return value

    def delegate(item: Any) -> Any:
        """Start `yield from`; what it sends, throws and closes goes to `item` itself, as if this were not here."""
        kind = type(item)
        if kind is types.GeneratorType:
            accesses.resume(item)  # it is reported with the outer one from the next step on
            return item
        if kind in quiet or ((methods := known(kind) or learn(kind)) and "__iter__" not in methods):
            return item
        if kind in ITERATORS:
            return Steps(item, lambda: touch(item))
        return Steps(iter(item), lambda: touch(item)) if next(beneath(item), None) is not None else item

    def foreign(item: Any, kind: type, fresh: int, first: bool) -> Any:
        """Start an iteration over what is no container, but may have some beneath it."""
        if kind in ITERATORS and not fresh:
            return Steps(item, lambda: touch(item))
        containers = list(beneath(item))
        if not containers:
            return item
        if len(containers) == 1 and not containers[0][1] and kind not in LOOKING:  # as below, which is slower
            container = containers[0][0]
            report(container, None, 0)
            return single(iter(item), container, first)

        def find() -> list[Pending]:
            found = beneath(item) if kind in LOOKING else containers
            return [(writes, container, None) for container, writes in found]

        report_all(find)
        return steps(iter(item), lambda: report_all(find), first)

    def iterate(item: Any, fresh: int = 0) -> Any:
        """Start a loop: the start and the first step are one access, unless the start notes the size."""
        kind = type(item)
        if kind in VIEWS:
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
            return single(iter(item), item, issubclass(kind, _SIZED))
        return foreign(item, kind, fresh, False)

    def lazy(item: Any, fresh: int = 0) -> Any:
        """Start an iteration whose first step may come later."""
        kind = type(item)
        if kind in VIEWS:
            return iterate(item)
        if kind in quiet or ((methods := known(kind) or learn(kind)) and "__iter__" not in methods):
            return item
        return foreign(item, kind, fresh, True)

    def turns(item: Iterable[object], enters: bool) -> Iterator[object]:
        """Run over what a comprehension runs over, with the pauses: before each step but the first, and as it begins.

        Until Python 3.12 comprehensions are functions, and where a function begins threads may be switched.
        """
        if enters:
            pause()
        for element in item:
            yield element
            pause()

    def namespace(item: Any) -> None:
        """Get hold of the dictionary of an object: from then on both are one place."""
        if issubclass(type(item), type):
            unite(item, get_referents(item.__dict__)[0])
        elif type(item) is types.ModuleType:
            foreign_code.doubt(f"gets hold of all names of the module {item.__name__}")
        elif "_kcache_local" in instance_variables(item):
            foreign_code.doubt("gets hold of all that a thread keeps in its thread-local data")
        elif has_variables(item):
            unite(item, instance_variables(item))
        else:
            report(item, accesses.imprecise("looks at all attributes"), 0)

    def rebind(item: Any, variables: object) -> None:
        """Give an object another dictionary: its old one and the new one are the same place, to be safe."""
        if type(variables) is dict and has_variables(item):
            unite(item, instance_variables(item))
            report(item, accesses.imprecise("exchanges all attributes"), 1)
            unite(item, variables)

    def reflect(item: object, name: str) -> None:
        """Reach into what Python keeps for itself."""
        del item
        foreign_code.doubt(f"uses {name}")

    def by_name(item: Any, name: str, write: int) -> None:
        """Reach an attribute whose name is a value."""
        if name == "__dict__" and not write:
            namespace(item)
        elif name in (REFLECTIVE if write else REFLECTIVE_READS):
            reflect(item, name)
        elif write:
            setattribute(item, name)
        else:
            attribute(item, name)

    def match(item: object) -> None:
        """Compare with patterns, which look at what is within."""
        read(item)
        if type(item) not in plain and not (type(item) in native and all(type(part) in plain for part in list(item))):  # type: ignore[call-overload]
            report(item, accesses.imprecise("looks into an object by patterns"), 0)
            accesses.look_through((item,))

    def attribute(item: Any, name: str) -> None:
        """Read an attribute that may live on the class: report the object that holds it."""
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
        if issubclass(type(item), (type, types.ModuleType)):  # isinstance asks for __class__, a property of proxies
            foreign_code.rebinds(name)
            if (
                name.startswith("__")
                and name.endswith("__")
                and name != "__init__"
                and type(item) is not types.ModuleType
            ):
                # Operators, and code in C, look these up in the class itself: nobody hears of it.
                foreign_code.doubt(f"binds the special method {name} of a class")
        if item is DefaultContext:
            foreign_code.doubt("changes decimal.DefaultContext, which each thread copies unseen")
        if type(item) is types.ModuleType and item.__name__ == "builtins":  # the one of the sandbox
            foreign_code.doubt(f"binds the builtin {name}")
        report(item.__dict__ if type(item) is types.ModuleType else item, name, 1)

    hooks = (read, pair, deep, within, mapping, of_new, compare, inplace, getitem, setitem, delitem, contains)
    stepping = (iterate, turns, lazy, accesses.advance, resumed, delegate)
    reflecting = (attribute, namespace, setattribute, rebind, reflect, by_name, match)
    return {hook.__name__: hook for hook in (*hooks, *stepping, *reflecting)}
