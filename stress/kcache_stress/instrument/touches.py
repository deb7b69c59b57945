"""Touches of opcodes: the objects that an opcode is about to read or change, and their attributes.

One row for each opcode that touches more than its frame. The rows follow ``Python/bytecodes.c`` of CPython; the opcodes
of all versions from 3.11 to 3.14 stand together. Code in Python that an opcode calls has opcodes of its own, so it is
left out here: methods in Python, properties. Of functions in C, what their rows of knowledge say counts: an observer
does not see into them.
"""

from __future__ import annotations

import dis
import functools
import gc
import itertools
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from kcache_model.foreign import is_a

from ..engine.events import READ, WRITE, namespaces
from ..engine.observation import CLASS, EVERYTHING
from ..knowledge import functions, tables
from ..knowledge.code_in_c import HEAP_TYPE, is_foreign
from .containment import METHOD_TYPES, beneath, has_variables, instance_variables

Touched: TypeAlias = "tuple[Any, object, int]"
"""(object, slot, READ or WRITE), as in :class:`~..engine.observation.Touch`."""

_HARNESS: Final = ("kcache_stress", "kcache_model", "greenlet")
_LOCAL: Final = "_kcache_local"
"""Attribute of thread-local objects: their other attributes are different ones in each thread."""
_DATA: Final = (types.MemberDescriptorType, types.GetSetDescriptorType)
"""Class attributes in C that read or change a field of the object."""
_DESCRIPTORS: Final = (types.MethodDescriptorType, types.WrapperDescriptorType)
_IN_PLACE: Final = 13
"""``NB_INPLACE_ADD``: arguments of BINARY_OP from here on change the left operand, if it can be changed."""
_SUBSCRIPT: Final = 26
"""``NB_SUBSCR``: the argument of BINARY_OP that is a subscript, from Python 3.14 on."""
_SIMPLE: Final = frozenset({list, tuple, set, frozenset, dict})
_MOST_LOOKED_AT: Final = 100
"""Number of elements of a container whose classes count as used by an operation on the container."""
_CHANGED_BY_RAISE: Final = ("__traceback__", "__context__", "__cause__", "__suppress_context__")
_RUN_BY_CALLS: Final = ("__code__", "__defaults__", "__kwdefaults__")
"""Attributes of a function that decide what a call of it does."""
_BY_NAME: Final = {getattr: READ, hasattr: READ, setattr: WRITE, delattr: WRITE}


class Row(NamedTuple):
    """Row of the table: what an opcode touches.

    Attributes:
        operands: number of operands to read from the stack, or a function from the argument of the opcode to it.
        touched: takes the operands, the uppermost one last, and the value of the argument; yields the touches.
    """

    operands: int | Callable[[int], int]
    touched: Callable[[Sequence[Any], Any], Iterable[Touched]]


def of_attribute(item: Any, name: object, kind: int) -> Iterator[Touched]:
    """Yield the touches of an attribute access: of the object, and of the classes in which the name is looked up."""
    if type(item) is types.CellType and name == "cell_contents":
        yield item, CONTENTS, kind
        return
    if name in _CHANGED_BY_RAISE and is_a(item, BaseException):
        yield item, name, WRITE
        return
    if type(name) is str and is_a(item, types.ModuleType):
        yield item.__dict__, name, kind
        return
    if type(name) is not str or (kind and (name in tables.REFLECTIVE or _is_special(name))):
        yield item, EVERYTHING, kind
        if type(item) is types.FunctionType and name in _RUN_BY_CALLS:
            yield item.__code__, EVERYTHING, kind
        return
    is_class = is_a(item, type)
    holder: Any = item if is_class else type(item)
    owners = holder.__mro__
    held: Any = None
    for owner in owners:
        if owner.__flags__ & HEAP_TYPE and not (kind and is_class):
            yield owner, name, READ
        if name in owner.__dict__:
            held = owner.__dict__[name]
            break
    hook = "__setattr__" if kind else "__getattribute__"
    if any(type(owner.__dict__.get(hook)) is types.FunctionType for owner in type(item).__mro__):
        return  # that function has opcodes of its own
    if type(held) in (property, functools.cached_property) and (kind or type(held) is property):
        return
    variables = instance_variables(item)
    if _LOCAL in variables:
        return
    if is_class or has_variables(item) or type(held) in _DATA:
        yield item, name, kind
    if held is not None and _is_field_in_c(type(held)):
        yield from ((each, None, kind) for each in _behind(item))


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_field_in_c(kind: type) -> bool:
    """Whether a class attribute gives access to memory that another object may share, as fields of ``ctypes`` do."""
    return kind.__module__ == "_ctypes" and hasattr(kind, "__set__")


def _behind(item: object, depth: int = 3) -> Iterator[object]:
    """Yield the containers that an object in C refers to, also by way of dictionaries and memory views."""
    for inner in gc.get_referents(item) if depth else ():
        if tables.methods_of(type(inner)) is not None:
            yield inner
        yield from (owner for owner, _ in beneath(inner))
        if type(inner) in (dict, tuple):
            yield from _behind(inner, depth - 1)


def of_types(operands: Iterable[Any], depth: int = 1) -> Iterator[Touched]:
    """Yield the classes that decide what an operation on some objects does: its methods are looked up there."""
    for operand in operands:
        kind = type(operand)
        if kind in _SIMPLE:
            yield from of_types(itertools.islice(operand, _MOST_LOOKED_AT), depth - 1) if depth else ()
        elif kind is types.FunctionType or (kind.__flags__ & HEAP_TYPE and not _is_in_c(kind)):
            yield operand, CLASS, READ
            yield kind, CLASS, READ
        elif kind is type:
            yield operand, CLASS, READ


def _is_in_c(kind: type) -> bool:
    """Whether a type is a container, or written in C: what changes its objects is no matter of their class."""
    return tables.methods_of(kind) is not None or is_foreign(kind)


def of_container(item: Any, kind: int = READ) -> Iterator[Touched]:
    """Yield the touches of an operation that reads or changes an object as a whole, if it is a container."""
    if _is_in_c(type(item)):
        yield item, None, kind
    else:
        for container, writes in beneath(item):
            yield container, None, writes


def of_iterator(item: Any) -> Iterator[Touched]:
    """Yield the touches of a step of an iterator: it advances, and reads the containers behind it."""
    if type(item) in tables.ITERATORS:
        yield item, None, WRITE
    for container, writes in beneath(item):
        yield container, None, writes


def of_call(callee: Any, arguments: Sequence[Any]) -> Iterator[Touched]:
    """Yield the touches of a call; none if it is code in Python."""
    kind = type(callee)
    if kind is types.MethodType:
        yield from of_call(callee.__func__, (callee.__self__, *arguments))
    elif kind is functools.partial:
        yield callee.keywords, None, READ
        yield from of_call(callee.func, (*callee.args, *arguments, *callee.keywords.values()))
    elif kind in METHOD_TYPES or kind is types.BuiltinFunctionType:
        owner = callee.__self__
        if owner is None or is_a(owner, types.ModuleType):
            yield from _of_function(callee, arguments)
        else:
            yield from _of_method(owner, callee.__name__, arguments)
    elif kind in _DESCRIPTORS:
        if arguments and (callee.__objclass__ is not object or callee.__name__ in tables.ATTRIBUTE_METHODS):
            yield from _of_method(arguments[0], callee.__name__, arguments[1:])
    elif kind is type and not callee.__flags__ & HEAP_TYPE and callee not in functions.SILENT_CALLS:
        starts = callee in functions.LAZY and callee in tables.ITERATORS
        for argument in arguments:
            if not starts or tables.keeps_size(type(argument)):
                yield from of_container(argument)


def _of_method(owner: Any, name: str, arguments: Sequence[Any]) -> Iterator[Touched]:
    kind = type(owner)
    methods = tables.native_methods_of(kind)
    effect = None if methods is None else methods.get(name)
    if effect is not None:
        if not effect & tables.SILENT:
            is_keyed = effect & tables.KEYED and arguments and type(arguments[0]) is str and _holds_attributes(owner)
            yield owner, arguments[0] if is_keyed else None, effect & WRITE
        if effect & tables.CONSUMES:
            for argument in arguments:
                yield from of_container(argument)
    elif name in tables.ATTRIBUTE_METHODS and arguments:
        if _LOCAL not in instance_variables(owner):
            yield from of_attribute(owner, arguments[0], int(name != "__getattribute__"))
            yield owner, arguments[0], int(name != "__getattribute__")
    elif name in tables.NO_PROOF_METHODS or name in tables.REFLECTIVE_READS or (kind, name) in tables.HIDDEN_METHODS:
        yield from ((each, EVERYTHING, WRITE) for each in (owner, *arguments))
    elif kind in tables.ITERATORS or kind is types.GeneratorType:
        yield from of_iterator(owner)
    elif kind not in tables.VIEWS and is_foreign(kind) and not issubclass(kind, type):
        yield owner, None, WRITE


def _of_function(callee: Any, arguments: Sequence[Any]) -> Iterator[Touched]:
    if callee in _BY_NAME and len(arguments) > 1:
        yield from of_attribute(arguments[0], arguments[1], _BY_NAME[callee])
    elif callee is vars and arguments:
        yield from of_attribute(arguments[0], "__dict__", READ)
    elif callee is next:
        yield from of_iterator(arguments[0])
    elif callee not in functions.SILENT_CALLS:
        stored = functions.STORING.get(callee, -1)
        for number, argument in enumerate(arguments):
            is_stored = number == stored or not functions.is_known_function(callee)
            yield from of_container(argument, WRITE if is_stored else READ)


def is_worth_it(item: object) -> bool:
    """Whether a touch of an object can matter: not if the object is a value, or belongs to the harness."""
    kind = type(item)
    return kind not in tables.IMMUTABLE and not kind.__module__.startswith(_HARNESS)


def _all(kind: int) -> Callable[[Sequence[Any], Any], Iterator[Touched]]:
    def touched(operands: Sequence[Any], _: Any) -> Iterator[Touched]:
        for operand in operands:
            yield from of_container(operand, kind)

    return touched


def _first(kind: int) -> Callable[[Sequence[Any], Any], Iterator[Touched]]:
    return lambda operands, _: of_container(operands[0], kind)


def _attribute(kind: int) -> Callable[[Sequence[Any], Any], Iterator[Touched]]:
    return lambda operands, name: of_attribute(operands[-1], name, kind)


def _holds_attributes(container: Any) -> bool:
    """Whether a container is the dictionary of a module, or of an object whose dictionary code has obtained."""
    return type(container) is dict and ("__builtins__" in container or id(container) in namespaces)


def _subscript(kind: int) -> Callable[[Sequence[Any], Any], Iterator[Touched]]:
    def touched(operands: Sequence[Any], _: Any) -> Iterator[Touched]:
        container, key = operands
        if type(key) is str and _holds_attributes(container):
            yield container, key, kind
        else:
            yield from of_container(container, kind)

    return touched


def _store_attribute(operands: Sequence[Any], name: Any) -> Iterator[Touched]:
    value, item = operands
    yield from of_attribute(item, name, WRITE)
    if name in tables.REFLECTIVE:
        yield value, EVERYTHING, WRITE


def _raise(operands: Sequence[Any], _: Any) -> Iterator[Touched]:
    """Touches of `raise`: two threads may raise one exception, if no code looks at what this changes in it."""
    for exception in operands:
        if is_a(exception, BaseException):
            yield from ((exception, name, READ) for name in _CHANGED_BY_RAISE)


def _match_class(operands: Sequence[Any], _: Any) -> Iterator[Touched]:
    subject, kind, names = operands
    yield from of_attribute(kind, "__match_args__", READ)
    arguments = getattr(kind, "__match_args__", ()) if is_a(kind, type) else ()
    for name in (*names, *arguments):
        yield from of_attribute(subject, name, READ)


def _operator(operands: Sequence[Any], argument: Any) -> Iterator[Touched]:
    first, second = operands
    if argument == _SUBSCRIPT:
        yield from _subscript(READ)(operands, None)
        return
    yield from of_container(first, int(argument >= _IN_PLACE))
    yield from of_container(second)


def _call(operands: Sequence[Any], _: Any) -> Iterator[Touched]:
    """Touches of CALL: the callee and the object of its method are the first two operands, in either order."""
    first, second, *arguments = operands
    if _METHOD_FIRST and first is not None:
        return of_call(first, (second, *arguments))
    if _METHOD_FIRST:
        return of_call(second, arguments)
    return of_call(first, arguments if second is None else (second, *arguments))


def _call_unpacked(operands: Sequence[Any], _: Any) -> Iterator[Touched]:
    callee, positional, *keywords = operands if _METHOD_FIRST else (operands[0], *operands[2:])
    values = [value for names in keywords if type(names) is dict for value in names.values()]
    return of_call(callee, (*(positional if type(positional) in (tuple, list) else ()), *values))


_METHOD_FIRST: Final = "KW_NAMES" in dis.opmap
"""Whether the method of a CALL lies below its object: until Python 3.12."""


def _has_names(argument: int) -> int:
    """Return the number of operands of CALL_FUNCTION_EX for named arguments: since Python 3.14, it always has one."""
    return 1 if sys.version_info >= (3, 14) else argument & 1


_READING: Final = """
    UNARY_NOT UNARY_NEGATIVE UNARY_INVERT TO_BOOL POP_JUMP_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_FORWARD_IF_TRUE
    POP_JUMP_FORWARD_IF_FALSE POP_JUMP_BACKWARD_IF_TRUE POP_JUMP_BACKWARD_IF_FALSE JUMP_IF_TRUE_OR_POP
    JUMP_IF_FALSE_OR_POP GET_ITER GET_LEN UNPACK_SEQUENCE UNPACK_EX LIST_EXTEND SET_UPDATE DICT_UPDATE DICT_MERGE
    FORMAT_VALUE FORMAT_SIMPLE CONVERT_VALUE
    """.split()  # noqa: SIM905 (a table)
"""Opcodes that read their uppermost operand as a whole."""
_ROWS: Final[dict[str, Row]] = {
    **dict.fromkeys(("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"), Row(1, _attribute(READ))),
    "STORE_ATTR": Row(2, _store_attribute),
    "DELETE_ATTR": Row(1, _attribute(WRITE)),
    "RAISE_VARARGS": Row(lambda argument: argument, _raise),
    "MATCH_CLASS": Row(3, _match_class),
    "MATCH_KEYS": Row(2, _first(READ)),
    "LOAD_SUPER_ATTR": Row(1, _attribute(READ)),
    **dict.fromkeys(("CONTAINS_OP", "COMPARE_OP"), Row(2, _all(READ))),
    "BINARY_SUBSCR": Row(2, _subscript(READ)),
    **dict.fromkeys(("STORE_SUBSCR", "DELETE_SUBSCR"), Row(2, _subscript(WRITE))),
    "BINARY_SLICE": Row(3, _first(READ)),
    "STORE_SLICE": Row(3, _first(WRITE)),
    "BINARY_OP": Row(2, _operator),
    **dict.fromkeys(_READING, Row(1, _all(READ))),
    "FOR_ITER": Row(1, lambda operands, _: of_iterator(operands[0])),
    # Beside the arguments: the callee, the object of a method, the names of arguments.
    "CALL": Row(lambda argument: argument + 2, _call),
    "CALL_KW": Row(lambda argument: argument + 3, lambda operands, argument: _call(operands[:-1], argument)),
    "CALL_FUNCTION_EX": Row(lambda argument: (2 if _METHOD_FIRST else 3) + _has_names(argument), _call_unpacked),
}


def row_of(instruction: dis.Instruction) -> tuple[int, Callable[[Sequence[Any], Any], Iterable[Touched]], Any] | None:
    """Return the number of operands of an opcode, what it touches, and its argument; ``None`` if it touches nothing."""
    row = _ROWS.get(instruction.opname)
    if row is None:
        return None
    argument = instruction.argval if instruction.opname.endswith(("ATTR", "METHOD", "FROM")) else instruction.arg
    count = row.operands if isinstance(row.operands, int) else row.operands(instruction.arg or 0)
    return count, row.touched, argument


GLOBALS: Final = {"LOAD_GLOBAL": READ, "LOAD_NAME": READ, "STORE_GLOBAL": WRITE, "DELETE_GLOBAL": WRITE}
"""Opcodes that touch a name of the module."""
CELLS: Final = {"LOAD_DEREF": READ, "STORE_DEREF": WRITE, "DELETE_DEREF": WRITE}
"""Opcodes that touch a variable of a function that another function uses, too."""
CONTENTS: Final = "contents"
"""Slot of the variable in a cell."""
