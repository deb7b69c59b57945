"""Hooks of calls: they run before each call that instrumented code makes.

They report the effects of container methods on the container, and of known functions on their arguments. All other
code that is not instrumented is recorded as unknown.
"""

import array
import contextvars
import functools
import gc
import inspect
import operator
import sys
import types
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Final

from kcache_model.foreign import is_a, is_any

from ..knowledge import functions, tables
from ..knowledge.code_in_c import HEAP_TYPE, is_known_type, module_in_c
from ..knowledge.python_code import hands_to_c, makes_objects, replaces
from ..knowledge.tables import COMPARES, CONSUMES, CONTAINERS, DEFAULTS, INDEXED, KEYED, PLAIN, SILENT, WRITE, Methods
from .containment import METHOD_TYPES, beneath, instance_variables
from .reporting import Accesses

_BUILTIN: Final = types.BuiltinFunctionType
_SIMPLE: Final = frozenset(
    function for function in functions.READERS - functions.DEEP - {next, print} if type(function) is _BUILTIN
)
"""Functions in C that only read their argument, if it is one container of atoms."""
_FOREIGN: Final = WRITE
_READING: Final = 0
_STREAMS: Final[Mapping[object, tuple[str, ...]]] = {print: ("stdout",), input: ("stdin", "stdout", "stderr")}
"""The functions that use a stream of ``sys``, and its names: code may replace it meanwhile."""
_NATIVE: Final = frozenset({_BUILTIN, types.MethodWrapperType, type(array.array("b").extend)})


def call_hooks(accesses: Accesses) -> dict[str, Callable[..., Any]]:
    """Create the hooks."""
    report, quiet, touch, advance, use = accesses.report, accesses.quiet, accesses.touch, accesses.advance, accesses.use
    hand_over = accesses.hand_over
    known, learn, plain, foreign = accesses.methods.get, accesses.learn, PLAIN, accesses.foreign
    foreign_code = accesses.foreign_code
    is_own = foreign_code.is_own
    sequences = frozenset({tuple, list})
    module = types.ModuleType
    readers, copying, no_proof = functions.READERS, functions.COPYING, functions.NO_PROOF
    is_known_function, reaches_by_name = functions.is_known_function, functions.reaches_by_name
    makers: dict[type, Any] = {}
    has_known_methods: Callable[[type], bool] = functools.cache(is_known_type)
    natives: dict[type, Methods] = {}
    class_attributes: dict[type, dict[str, Any]] = {}
    function, bound = types.FunctionType, types.MethodType
    descriptors = (types.MethodDescriptorType, types.WrapperDescriptorType)
    no_variables: dict[str, Any] = {}
    no_methods: Methods = {}
    silent: dict[int, types.CodeType] = {}  # code of functions whose calls need no report: they report when they run
    silent_classes: set[object] = set(functions.SILENT_CALLS)
    builtin_attributes: dict[tuple[type, str], Any] = {}
    stdout = sys.stdout  # code under test never reads this stream, but it may read a replacement

    def perform(item: Any, access: int, arguments: tuple[object, ...]) -> None:
        """Report the effect of a method of the container `item`; `access` is the method's entry in the table."""
        if access <= WRITE:
            report(item, None, access)
        elif access <= KEYED | WRITE:
            slot: object = None
            if arguments:
                slot = arguments[0] if type(arguments[0]) in plain else accesses.key_slot(arguments[0])
            report(item, slot, access & WRITE)
        elif not access & SILENT:
            perform_rarely(item, access, arguments)

    def perform_rarely(item: Any, access: int, arguments: tuple[object, ...]) -> None:
        if access & (COMPARES | CONSUMES):
            accesses.use_container(item, access & WRITE, arguments, looks=bool(access & COMPARES))
            return
        slot: object = None
        if arguments and access & DEFAULTS:
            slot = accesses.key_slot(arguments[0])
            if arguments[0] not in item:
                accesses.report_default(item, slot)
                return
        elif arguments and access & INDEXED and type(arguments[0]) is int:
            slot = arguments[0] if arguments[0] >= 0 else arguments[0] + len(item)
        report(item, slot, access & WRITE)

    def call(callee: Any, *arguments: Any) -> None:
        kind = type(callee)
        if kind is function:
            if id(callee.__code__) not in silent:
                run(callee, arguments)
        elif kind is bound:
            inner = callee.__func__
            if type(inner) is not function:
                call(inner, callee.__self__, *arguments)
            elif id(inner.__code__) not in silent:
                run(inner, (callee.__self__, *arguments))
        elif kind in _NATIVE:
            owner = callee.__self__
            access = natives.get(type(owner), no_methods).get(callee.__name__)
            if access is not None:
                perform(owner, access, arguments)
            elif owner is None or type(owner) is module:
                native_function(callee, arguments)
            else:
                native_method(owner, callee.__name__, type(owner), arguments)
        elif issubclass(kind, type):
            construct(callee, arguments)
        elif kind in descriptors:
            if arguments:
                native_method(arguments[0], callee.__name__, callee.__objclass__, arguments[1:])
        elif kind is functools.partial:
            report(callee.keywords, None, 0)
            call(callee.func, *callee.args, *arguments, *callee.keywords.values())
        elif kind is types.GenericAlias:
            call(callee.__origin__, *arguments)
        elif kind is types.ClassMethodDescriptorType:
            meet_clock(callee.__objclass__, callee.__name__)
            use(arguments)
        elif kind is weakref.ref:
            foreign_code.doubt("calls a weak reference, whose object may be deleted without a visible event")
        else:
            called_object(callee, kind, arguments)

    def run(callee: Any, arguments: tuple[Any, ...]) -> None:
        """Report a call of a function in Python; the monitor observes the code that is not instrumented."""
        code = callee.__code__
        if callee in no_proof:
            foreign_code.doubt(no_proof[callee][0], lasts=no_proof[callee][1])
        if callee in functions.INSPECTING and arguments:
            report(arguments[0], accesses.imprecise(f"looks attributes up by inspect.{callee.__name__}"), 0)
            return
        if replaces(code) and arguments and foreign_code.has_fixed_fields(arguments[0]):
            return
        if is_own(callee) or (callee not in readers and not makes_objects(code) and foreign_code.is_known(callee)):
            if is_own(callee) or not hands_to_c(code):
                silent[id(code)] = code
            elif not all(type(argument) in plain for argument in arguments):
                hand_to_c(callee, arguments)
            return
        if callee in readers:
            use(arguments, looks=callee not in copying)
            if callee in functions.DEEP:
                accesses.look_through(arguments)
        position = functions.STORING.get(callee)
        if position is not None and len(arguments) > position:
            report(arguments[position], accesses.imprecise(f"runs {callee.__qualname__}, which stores in it"), WRITE)
        if arguments and makes_objects(code):
            report(arguments[0], accesses.imprecise("runs the __init__ of a dataclass again"), WRITE)
        if foreign_code.is_known(callee):
            return
        if callee not in readers:
            hand_over(arguments)
        foreign_code.note(f"calls {callee.__module__}.{callee.__qualname__}, which is not instrumented")

    def hand_to_c(callee: Any, arguments: tuple[Any, ...]) -> None:
        """Report a call of a function in Python that passes its arguments, including buffers and lists, to C."""
        use(arguments)
        read = [container for argument in arguments for container, _ in beneath(argument)]
        what = f"calls {callee.__module__}.{callee.__qualname__}, which keeps a buffer while other code runs"
        if read and callee in functions.LENDING:
            foreign_code.doubt(what)
        elif read and any(map(callable, arguments)):
            slot = accesses.imprecise(what)
            accesses.report_step(tuple((0, container, slot) for container in read))

    def called_object(callee: Any, kind: type, arguments: tuple[Any, ...]) -> None:
        if known(kind) is None:
            learn(kind)  # otherwise the first call would report different accesses than later calls
        own = inspect.getattr_static(kind, "__call__", None)
        if type(own) is function:
            if id(own.__code__) not in silent:
                run(own, (callee, *arguments))
        elif kind in (operator.itemgetter, operator.attrgetter, operator.methodcaller):
            changes = int(kind is operator.methodcaller)
            named = callee.__reduce__()[1]
            if kind is operator.attrgetter and any(not tables.REFLECTIVE.isdisjoint(each.split(".")) for each in named):
                foreign_code.doubt(f"uses {' '.join(named)}")
            use(arguments, changes)
            if kind is not operator.itemgetter and arguments:
                report(arguments[0], accesses.imprecise(f"looks attributes up by {kind.__name__}"), changes)
        elif kind not in quiet or not has_known_methods(kind):
            what = f"calls an object of type {kind.__qualname__}"
            foreign_code.enter_c(sys._getframe(1), what, module_in_c(kind), (callee, *arguments))
            hand_over(arguments)

    def construct(kind: type, arguments: tuple[Any, ...]) -> None:
        """Report a call of a class: the effect of creating an instance on the arguments."""
        if kind is type and len(arguments) == 3:
            use(arguments[2:])
        if kind is functools.partial and arguments and type(arguments[0]) is kind:
            report(arguments[0].keywords, None, 0)
        if kind in silent_classes:
            return
        if kind in CONTAINERS:
            copies = kind in copying or all(issubclass(type(argument), dict) for argument in arguments)
            use(arguments, looks=not copies)
            return
        maker = makers.get(kind, no_variables)
        if maker is no_variables:
            maker = makers[kind] = _maker(kind)
        if type(maker) is function:
            if is_own(maker) or foreign_code.is_known(maker):
                if has_known_methods(kind):
                    silent_classes.add(kind)
            else:
                foreign_code.note(f"creates a {kind.__module__}.{kind.__qualname__}, which is not instrumented")
                hand_over(arguments)
        elif arguments:
            # Classes in C copy their arguments; `object` takes none.
            if any(map(reaches_by_name, arguments)):
                foreign_code.enter(
                    sys._getframe(1), f"a {kind.__name__} reaches attributes by name", arguments, is_contained=True
                )
            if kind not in functions.LAZY:
                use(arguments, looks=kind not in copying)
            elif kind in tables.ITERATORS:  # it starts to iterate now
                use([each for each in arguments if tables.keeps_size(type(each))], looks=False)
            if kind in functions.LENDING and is_any(arguments[0], (bytearray, array.array)):
                report(arguments[0], accesses.imprecise("lends its buffer: it cannot grow while the view exists"), 0)
        if not has_known_methods(kind):
            what = f"creates a {kind.__module__}.{kind.__qualname__}"
            foreign_code.enter_c(sys._getframe(1), what, module_in_c(kind), arguments)

    def native_function(callee: Any, arguments: tuple[Any, ...]) -> None:
        if callee in no_proof:
            foreign_code.doubt(no_proof[callee][0], lasts=no_proof[callee][1])
        if callee in functions.SILENT_CALLS:
            return
        for stream in _STREAMS.get(callee, ()):
            report(sys.__dict__, stream, 0)
        if not is_known_function(callee):
            what = f"calls {callee.__module__}.{callee.__qualname__}"
            foreign_code.enter_c(sys._getframe(1), what, callee.__module__ or "", arguments)
            hand_over(arguments)
            return
        if callee is print:
            written = [*arguments, *([] if sys.stdout is stdout else [sys.stdout])]
            streams = [one for one in written if hasattr(type(one), "write")]
            between = accesses.imprecise_if_calling_back([one for one in arguments if not hasattr(type(one), "write")])
            for stream in streams:
                call(stream.write, "")
                if between is not None:  # code such as `__str__` runs between one piece and the next
                    report(stream, between, WRITE)
        if not arguments:
            return
        if callee is next:
            advance(arguments[0])
        elif callee in functions.ATTRIBUTE_WRITERS:
            report(arguments[0], accesses.imprecise(f"calls {callee.__name__} as a value"), 1)
        elif callee in functions.ATTRIBUTE_READERS:
            report(arguments[0], accesses.imprecise("calls getattr as a value"), 0)
        if any(map(reaches_by_name, arguments)):
            foreign_code.enter(
                sys._getframe(1), f"{callee.__name__} reaches attributes by name", arguments, is_contained=True
            )
        effect = _READING if callee in readers else _FOREIGN
        use(arguments, effect, looks=callee not in copying)
        if callee in functions.DEEP:
            accesses.look_through(arguments)

    def native_method(owner: Any, name: str, kind: type, arguments: tuple[Any, ...]) -> None:
        """Report a call of a method in C, also by `super().get(key)` in a class that overrides `get` in Python."""
        methods = natives.get(kind)
        if methods is None:
            methods = natives[kind] = tables.native_methods_of(kind) or {}
        if name in methods:
            perform(owner, methods[name], arguments)
        elif name in tables.NO_PROOF_METHODS or (kind, name) in tables.HIDDEN_METHODS:
            foreign_code.doubt(f"calls {name}", is_seen=True)
        elif name in tables.ATTRIBUTE_METHODS and arguments:
            if arguments[0] in tables.REFLECTIVE:
                foreign_code.doubt(f"uses {arguments[0]}", is_seen=arguments[0] not in tables.UNSEEN_ATTRIBUTES)
            report(owner, arguments[0] if type(arguments[0]) is str else None, int(name != "__getattribute__"))
        elif kind is types.GeneratorType:
            accesses.resume(owner)
        elif kind in tables.ITERATORS:
            if name != "__iter__":
                advance(owner)
        elif kind in tables.VIEWS:
            touch(owner)
        elif kind in tables.IMMUTABLE or issubclass(kind, type):
            meet_clock(owner, name)
            use((owner, *arguments) if kind is tuple else arguments)
            if kind is str and name in tables.FORMAT_NAMES:
                for argument in arguments:
                    if type(argument) not in plain and "." in owner:
                        report(argument, accesses.imprecise("formats attributes that a format string names"), 0)
        elif kind in tables.COROUTINES:
            report(owner, accesses.imprecise("continues a coroutine"), WRITE)
        elif has_known_methods(kind):
            learn(kind)
            changes = not issubclass(kind, bytearray)  # its methods that are not in the table are methods of bytes
            # A pickler keeps methods of its file. Internal lists of code in C may have holes, so they are not read.
            kept = () if methods or kind not in foreign else gc.get_referents(owner)
            held = [each for each in kept if type(each) in METHOD_TYPES]
            use((*arguments, *held), _FOREIGN, also=[(int(changes), owner, None)] if kind in foreign or methods else [])
            if any(type(one) is types.GeneratorType for one in arguments):
                report(owner, accesses.imprecise(f"{name} runs a generator between one piece and the next"), WRITE)
            if kind is contextvars.Context and name == "run":
                report(owner, accesses.imprecise("enters a context during a call"), WRITE)
        else:
            what = f"calls {kind.__module__}.{kind.__qualname__}.{name}"
            foreign_code.enter_c(sys._getframe(1), what, module_in_c(kind), (owner, *arguments))
            report(owner, None, WRITE)
            hand_over(arguments)

    def meet_clock(owner: Any, name: str) -> None:
        if tables.reads_the_clock(owner, name):
            foreign_code.doubt(
                f"calls {owner.__name__}.{name}, which reads the real clock; time.time() reads the virtual one"
            )

    def look_up(item: Any, name: str) -> Any:
        """Return `item.name` without running code of the module under test; None if that is unknown."""
        kind = type(item)
        if kind is types.ModuleType:
            return item.__dict__.get(name)
        if kind is type and not item.__flags__ & HEAP_TYPE:
            if (item, name) not in builtin_attributes:
                builtin_attributes[item, name] = inspect.getattr_static(item, name, None)
            found = builtin_attributes[item, name]
        elif issubclass(kind, type):
            found = inspect.getattr_static(item, name, None)
        else:
            attributes = class_attributes.setdefault(kind, {})
            if name not in attributes:
                attributes[name] = next((base.__dict__[name] for base in kind.__mro__ if name in base.__dict__), None)
            found = attributes[name]
            found = instance_variables(item).get(name, found)
            if type(found) is types.MemberDescriptorType:
                return found.__get__(item, kind)
        return found.__func__ if type(found) in (staticmethod, classmethod) else found

    def method(item: Any, name: str, *arguments: Any) -> None:
        kind = type(item)
        methods = known(kind)
        if methods is None:
            methods = learn(kind)
            if kind in quiet and not arguments:
                return  # from now on, instrumented code skips the hook for this type
        if name not in methods:
            other(item, name, arguments)
        else:
            perform(item, methods[name], arguments)

    def method1(item: Any, name: str, key: Any) -> None:
        """Do the same as `method` for one argument, the most frequent case."""
        methods = known(type(item))
        if methods is None or name not in methods:
            method(item, name, key)
            return
        access = methods[name]
        if access <= WRITE:
            report(item, None, access)
        elif access <= KEYED | WRITE:
            report(item, key if type(key) in plain else accesses.key_slot(key), access & WRITE)
        else:
            perform(item, access, (key,))

    def call1(callee: Any, argument: Any) -> None:
        """Do the same as `call` for one argument, where mostly nothing needs a report."""
        kind = type(callee)
        if kind is function:
            if id(callee.__code__) in silent:
                return
        elif kind is bound:
            inner = callee.__func__
            if type(inner) is function and id(inner.__code__) in silent:
                return
        elif kind is _BUILTIN:
            if callee in _SIMPLE and type(argument) in CONTAINERS:
                if callee in copying:
                    report(argument, None, 0)
                else:
                    use((argument,))
                return
        elif kind is type and type(argument) in quiet and callee in plain:
            return
        call(callee, argument)

    def other(item: Any, name: str, arguments: tuple[Any, ...]) -> None:
        """Report a method call on an object that is no container."""
        kind = type(item)
        if kind in tables.VIEWS:
            touch(item)
            return
        if kind is types.GeneratorType:
            accesses.resume(item, throws=name not in ("send", "__next__"))
            return
        if kind in tables.ITERATORS:
            advance(item)
            return
        callee = look_up(item, name)
        if callee is None or is_a(callee, property):
            return
        if type(callee) in descriptors and not issubclass(kind, type):
            native_method(item, name, kind, arguments)
        elif type(callee) is function and not issubclass(kind, (type, module)) and name not in instance_variables(item):
            if id(callee.__code__) not in silent:
                run(callee, (item, *arguments))
        else:
            call(callee, *arguments)

    def star(item: Any) -> Any:
        """Report the unpacking of `*item`, and unpack containers now; the call itself consumes an iterator."""
        kind = type(item)
        if kind in tables.VIEWS or kind in CONTAINERS:
            touch(item)
            return tuple(item)
        if kind not in quiet:
            touch(item)
        return item

    def double_star(item: Any) -> Any:
        """Report the unpacking of `**item`, and copy a dict now."""
        if type(item) in CONTAINERS:
            touch(item)
            return dict(item) if is_a(item, dict) else item
        if type(item) not in quiet:
            touch(item)
        return item

    def unpacked(callee: Any, positional: Any, *keywords: Any) -> None:
        """Report a call with star-arguments; an iterator is not read here, because only the call may consume it."""
        call(callee, *(positional if type(positional) in sequences else ()), *keywords)

    return {hook.__name__: hook for hook in (method, method1, call, call1, unpacked, star, double_star)}


def _maker(kind: type) -> Any:
    """Return the callable that creates an instance of a class; None if unknown. It is a function if it is in Python."""
    if type(kind) is not type:
        own = inspect.getattr_static(type(kind), "__call__", None)
        if type(own) is types.FunctionType:
            return own
    for owner in kind.__mro__:
        if "__init__" in owner.__dict__ or "__new__" in owner.__dict__:
            return owner.__dict__.get("__init__", owner.__dict__.get("__new__"))
    return None
