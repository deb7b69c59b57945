"""The hooks of single accesses: subscripts, truth, comparison, iteration, attributes of classes."""

import types
from collections.abc import Callable, Iterator
from functools import cached_property
from gc import get_referents
from typing import Any

from .beneath import beneath
from .reporting import Accesses, slot_of
from .tables import CONTAINERS, DEFAULTS, INDEXED, ITERATORS, KEYED, PLAIN, VIEWS, WRITE


def access_hooks(accesses: Accesses) -> dict[str, Callable[..., Any]]:
    """Make the hooks; they close over local names because that is the fastest way to reach them."""
    report, quiet, touch = accesses.report, accesses.quiet, accesses.touch
    known, learn, plain, native = accesses.methods.get, accesses.learn, PLAIN, frozenset(CONTAINERS)

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
        """Use all of `item`, and all that is within it."""
        read(item)
        if type(item) not in quiet or type(item) in (tuple, frozenset):
            accesses.look_through(item)

    def pair(left: object, right: object) -> None:
        read(left)
        if left is not right:
            read(right)

    def inplace(target: object, value: object) -> None:
        kind = type(target)
        if kind in quiet:
            read(value)
        elif known(kind) or learn(kind):
            if value is not target:
                read(value)
            report(target, None, 1)
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
            slot = key if type(key) in plain else slot_of(key)
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
        report(item, slot, 1)

    def getitem(item: object, key: object) -> None:
        if type(item) is dict:
            report(item, key if type(key) in plain else slot_of(key), 0)
        else:
            subscript(item, key, "__getitem__")

    def setitem(item: object, key: object) -> None:
        if type(item) is dict:
            report(item, key if type(key) in plain else slot_of(key), 1)
        else:
            subscript(item, key, "__setitem__")

    def delitem(item: object, key: object) -> None:
        subscript(item, key, "__delitem__")

    def contains(key: object, item: object) -> None:
        kind = type(item)
        if kind is dict or kind is set:
            report(item, key if type(key) in plain else slot_of(key), 0)
            return
        methods = known(kind)
        if methods is None:
            methods = learn(kind)
        if methods:
            access = methods.get("__contains__")
            if access is not None:
                report(item, slot_of(key) if access & KEYED else None, 0)
        elif kind not in quiet:
            touch(item)

    def steps(item: Any, containers: list[Any], first: bool) -> Iterator[object]:
        """Report before each step; the first one too unless it follows at once on the report of the start."""
        if first:
            for container in containers:
                report(container, None, 0)
        for element in item:
            yield element
            for container in containers:
                report(container, None, 0)

    def single(item: Any, container: object) -> Iterator[object]:
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
        generator, accesses.resumed = accesses.resumed, None
        if generator is not None:
            report(generator, None, 1)
        return value

    def iterate(item: Any) -> Any:
        """Start a loop: the start and the first step are one access."""
        kind = type(item)
        if kind in VIEWS:
            container = get_referents(item)[0]
            report(container, None, 0)
            return single(iter(item), container)
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
            return single(iter(item), item)
        containers = [container for container, _ in beneath(item)]
        if not containers:
            return item
        for container in containers:
            report(container, None, 0)
        return steps(iter(item), containers, False)

    def lazy(item: Any) -> Any:
        """Start an iteration whose first step may come later."""
        kind = type(item)
        if kind in quiet or ((methods := known(kind) or learn(kind)) and "__iter__" not in methods):
            return item
        containers = [container for container, _ in beneath(item)]
        if not containers:
            return item
        for container in containers:
            report(container, None, 0)
        return steps(iter(item), containers, True)

    def advance(iterator: object) -> None:
        """Call `next`: the iterator itself moves, and it reads what is beneath it."""
        touch(iterator)
        if type(iterator) in ITERATORS:
            report(iterator, None, 1)

    def namespace(item: Any) -> None:
        """Get hold of the dictionary of an object: whoever has it can change every attribute."""
        for name in list(getattr(item, "__dict__", ())):
            report(item, name, 1)
        report(item, None, 1)

    def attribute(item: Any, name: str) -> None:
        """Read an attribute that may live on the class: report the object that holds it."""
        if type(item) is types.ModuleType:
            report(item.__dict__, name, 0)
            return
        held = getattr(item, "__dict__", ())
        if isinstance(item, type) or name not in held:
            for owner in item.__mro__ if isinstance(item, type) else type(item).__mro__:
                found = owner.__dict__.get(name)
                if found is not None or name in owner.__dict__:
                    if type(found) is cached_property and item is not owner:
                        report(item, name, 1)  # the first look-up stores the value
                    elif type(found) is types.MemberDescriptorType or type(found) is property:
                        report(item, name, 0)
                    else:
                        report(owner, name, 0)
                    break
        if not isinstance(item, type):
            report(item, name, 0)

    def setattribute(item: Any, name: str) -> None:
        report(item.__dict__ if type(item) is types.ModuleType else item, name, 1)

    return {
        "_kc_read": read,
        "_kc_pair": pair,
        "_kc_deep": deep,
        "_kc_inplace": inplace,
        "_kc_getitem": getitem,
        "_kc_setitem": setitem,
        "_kc_delitem": delitem,
        "_kc_contains": contains,
        "_kc_iter": iterate,
        "_kc_lazy": lazy,
        "_kc_next": advance,
        "_kc_resumed": resumed,
        "_kc_attribute": attribute,
        "_kc_namespace": namespace,
        "_kc_setattribute": setattribute,
    }
