"""Plain polling loops: ``while`` loops of which the source shows that an iteration without changes has no effect.

The condition of such a loop consists of variables, plain attributes, items, comparisons and ``len``; its body of one
call of ``sleep``, and of conditions. A branch that always ends the loop may do anything. The values of the loop are of
built-in types, so that no other code runs. It is in no other loop. Any other code may change hidden state: an iterator,
a context variable, a socket.

What only returns such an expression is plain, too: a property, a method, a function, and what :data:`_QUERIES` names.
So is a block with a lock, if it does not sleep: to leave out a later time that it takes the lock hides nothing, as the
first time could come as late. If threads look whether that lock is held, they could find it held more than once:
:func:`~.polling.missed_look`.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import inspect
import io
from collections import deque
from collections.abc import Iterator
from types import FrameType, FunctionType, ModuleType
from typing import Any, Final

from kcache_model.foreign import all_attributes, class_attribute

from ...knowledge.python_code import library_module
from ...stacks import variables_of
from .locks import VirtualLock, VirtualRLock

_SCALARS: Final = (bool, int, float, str, bytes, type(None))
_CONTAINERS: Final = (list, tuple, dict, set, frozenset, deque, bytearray)
_ENCLOSING: Final = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_UNKNOWN: Final = object()
"""Stands for a plain value that is not known: a number, or whether something is true."""
_TRUTH: Final = object()
"""Stands for one of several values of which only the truth is plain: items of containers may define ``==``."""
_Queries = tuple[frozenset[str], dict[str, tuple[type, ...]]]
_NO_QUERIES: Final[_Queries] = (frozenset(), {})
_OF_QUEUES: Final[_Queries] = (
    frozenset({"empty", "full", "qsize"}),
    {"mutex": (), "queue": (deque, list), "maxsize": (int,)},
)
_QUERIES: Final[dict[tuple[str, str], _Queries]] = {
    ("threading", "Event"): (frozenset({"is_set"}), {"_flag": (bool,)}),
    ("queue", "Queue"): _OF_QUEUES,
    ("queue", "LifoQueue"): _OF_QUEUES,
    ("queue", "PriorityQueue"): _OF_QUEUES,
    ("concurrent.futures._base", "Future"): (
        frozenset({"cancelled", "done", "running"}),
        {"_condition": (), "_state": (str,)},
    ),
}
"""Class of the standard library -> methods that only look, and the attributes that they read with their types.

A lock has no type here: see :func:`_is_lock`. The attributes may have been replaced, and so may have been the methods.
"""
_SUSPENDED: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class _NotPlainError(Exception):
    """An expression or a value that is not plain."""


def is_plain_poll(frame: FrameType) -> bool:
    """Whether a frame sleeps directly in a plain polling loop."""
    code = frame.f_code
    loop = _loop_at(code.co_filename, code.co_name, frame.f_lineno)
    if loop is None or code.co_flags & _SUSPENDED:
        return False
    variables = {**vars(builtins), **frame.f_globals, **variables_of(frame)}
    try:
        return _is_truth(loop.test, variables) and _is_plain_body(loop.body, variables) == 1
    except (_NotPlainError, RecursionError):
        return False


@functools.lru_cache(1_000)
def _loop_at(file: str, name: str, line: int) -> ast.While | None:
    """Return the only loop of a function around a line; ``None`` if there is none, or if its source is not known."""
    nodes = _nodes_of_file(file)
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef) and _covers(node, line)]
    if not functions or functions[-1].name != name:
        return None
    loops = [node for node in _nodes(functions[-1]) if isinstance(node, _ENCLOSING) and _covers(node, line)]
    inner = [node for node in _nodes(functions[-1]) if isinstance(node, _FUNCTIONS) and _covers(node, line)]
    is_only = len(loops) == 1 and inner == [functions[-1]]
    loop = loops[0] if is_only else None
    return loop if isinstance(loop, ast.While) and not loop.orelse and _may_be_plain(loop.body, line) else None


def _may_be_plain(body: list[ast.stmt], line: int) -> bool:
    """Whether the statements are of the kinds that :func:`_is_plain_body` allows, and a line is in no free branch."""
    for each in body:
        match each:
            case ast.Pass() | ast.Continue() | ast.Break() | ast.Return() | ast.Raise() | ast.Expr():
                continue
            case ast.With(body=inner):
                parts = [inner]
            case ast.If(body=inner, orelse=otherwise):
                parts = [inner, otherwise]
            case _:
                return False
        for part in parts:
            is_free = isinstance(each, ast.If) and _leaves(part)
            if any(_covers(one, line) for one in part) if is_free else not _may_be_plain(part, line):
                return False
    return True


@functools.lru_cache(20)
def _nodes_of_file(file: str) -> list[ast.AST]:
    """Return all nodes of a file, from the outside to the inside; none if its source is not known."""
    try:  # with functions in C alone: any other would count as code that the thread runs
        with io.open_code(file) as opened:
            return [*_nodes(compile(opened.read(), file, "exec", ast.PyCF_ONLY_AST))]
    except (OSError, SyntaxError, ValueError):
        return []


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all below it, from the outside to the inside."""
    yield node
    for name in node._fields:
        value = getattr(node, name, None)
        for inner in value if type(value) is list else (value,):
            if isinstance(inner, ast.AST):
                yield from _nodes(inner)


def _covers(node: Any, line: int) -> bool:
    return bool(node.lineno <= line <= node.end_lineno)


def _is_plain_body(body: list[ast.stmt], variables: dict[str, Any]) -> int:
    """Return the number of sleeps in the body of a loop.

    Raises:
        _NotPlainError: it does anything else.
    """
    sleeps = 0
    for statement in body:
        match statement:
            case ast.Pass() | ast.Continue() | ast.Break() | ast.Return() | ast.Raise():
                pass  # the last three only as the end of the loop
            case ast.Expr(value=ast.Call(func=ast.Name(id="sleep") | ast.Attribute(attr="sleep"), keywords=[])):
                call: Any = statement.value
                if len(call.args) != 1 or type(_value(call.args[0], variables)) not in _SCALARS:
                    raise _NotPlainError
                if isinstance(call.func, ast.Attribute) and type(_value(call.func.value, variables)) is not ModuleType:
                    raise _NotPlainError
                sleeps += 1
            case ast.With(items=[ast.withitem(context_expr=lock, optional_vars=None)], body=inner):
                if not _is_lock(_value(lock, variables)) or _is_plain_body(inner, variables):
                    raise _NotPlainError
            case ast.If(test=test, body=inner, orelse=otherwise):
                _is_truth(test, variables)
                branches = (branch for branch in (inner, otherwise) if not _leaves(branch))
                sleeps += sum(_is_plain_body(branch, variables) for branch in branches)
            case _:
                raise _NotPlainError
    return sleeps


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether a branch ends the loop whenever it runs: no iteration after which the loop goes on has run it."""
    is_end = bool(body) and isinstance(body[-1], (ast.Return, ast.Raise, ast.Break))
    return is_end and not any(isinstance(node, ast.Continue) for each in body for node in _nodes(each))


def _is_truth(node: ast.expr, variables: dict[str, Any]) -> bool:
    """Return True if a condition is plain.

    Raises:
        _NotPlainError: it is not.
    """
    match node:
        case ast.BoolOp(values=values):
            return all(_is_truth(value, variables) for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _is_truth(operand, variables)
        case ast.Compare(left=left, comparators=others):
            compared = [_value(each, variables) for each in (left, *others)]
            if any(type(value) not in _SCALARS and value is not _UNKNOWN for value in compared):
                raise _NotPlainError
            return True
    value = _value(node, variables)
    if type(value) not in (*_SCALARS, *_CONTAINERS) and value is not _UNKNOWN and value is not _TRUTH:
        raise _NotPlainError
    return True


def _value(node: ast.expr, variables: dict[str, Any]) -> Any:
    """Return the value of a plain expression without running any code of its objects.

    Raises:
        _NotPlainError: the expression is not plain.
    """
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if name in variables:
            return variables[name]
        case ast.Attribute(value=of, attr=name):
            owner = _value(of, variables)
            attributes, kind = all_attributes(owner), type(owner)
            looks_up = class_attribute(kind, "__getattribute__")
            is_usual = looks_up is object.__getattribute__ and type(class_attribute(kind, name)) in _SCALARS
            if name in attributes and (kind is ModuleType or is_usual):
                return attributes[name]
            getter = class_attribute(kind, name)
            if type(getter) is property and looks_up is object.__getattribute__ and type(getter.fget) is FunctionType:
                return _result(getter.fget, [owner])
        case ast.Subscript(value=of, slice=index):
            container, key = _value(of, variables), _value(index, variables)
            has_plain_keys = type(container) is dict and all(type(each) in _SCALARS for each in container)
            if (type(container) in (list, tuple) or has_plain_keys) and type(key) in _SCALARS:
                try:
                    return container[key]
                except (LookupError, TypeError):
                    raise _NotPlainError from None
        case ast.Call(func=ast.Name(id="len"), args=[of], keywords=[]) if variables.get("len") is len:
            if type(container := _value(of, variables)) in _CONTAINERS:
                return len(container)
        case ast.Call(func=ast.Attribute(value=of, attr=name), args=arguments, keywords=[]):
            owner = _value(of, variables)
            kind = type(owner)
            method, looks_up = class_attribute(kind, name), class_attribute(kind, "__getattribute__")
            is_usual = looks_up is object.__getattribute__ and name not in all_attributes(owner)
            if is_usual and not arguments and _only_looks(owner, name):
                return _UNKNOWN
            if is_usual and type(method) is FunctionType:
                return _result(method, [owner, *(_value(each, variables) for each in arguments)])
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            if type(function := variables.get(name)) is FunctionType:
                return _result(function, [_value(each, variables) for each in arguments])
    raise _NotPlainError


def _result(function: FunctionType, arguments: list[Any]) -> Any:
    """Return the value of a call of a plain function without running it: :data:`_UNKNOWN` for a condition.

    Raises:
        _NotPlainError: it does anything but return a plain expression, perhaps in a block with a lock.
    """
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    node = _function_at(code.co_filename, code.co_name, code.co_firstlineno)
    others = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | _SUSPENDED
    if node is None or len(names) != len(arguments) or code.co_kwonlyargcount or code.co_flags & others:
        raise _NotPlainError
    variables = {**vars(builtins), **function.__globals__, **dict(zip(names, arguments, strict=True))}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # an empty cell
            variables[name] = cell.cell_contents
    body: list[ast.stmt] | ast.expr = node.body
    if isinstance(body, list):
        while len(body) > 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]
        match body:
            case [ast.With(items=[ast.withitem(context_expr=lock, optional_vars=None)], body=[ast.Return() as end])]:
                if not _is_lock(_value(lock, variables)):
                    raise _NotPlainError
            case [ast.Return() as end]:
                pass
            case _:
                raise _NotPlainError
        body = end.value or ast.Constant(None)
    if isinstance(body, (ast.BoolOp, ast.Compare)) or (isinstance(body, ast.UnaryOp) and isinstance(body.op, ast.Not)):
        _is_truth(body, variables)
        return _TRUTH if isinstance(body, ast.BoolOp) else _UNKNOWN
    return _value(body, variables)


@functools.lru_cache(1_000)
def _function_at(file: str, name: str, line: int) -> ast.FunctionDef | ast.Lambda | None:
    """Return the only function that begins in a line, with its decorators; ``None`` if there is none."""
    functions: list[ast.FunctionDef | ast.Lambda] = []
    for node in _nodes_of_file(file):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            begin = node.decorator_list[0].lineno if node.decorator_list else node.lineno
            functions += [node] if begin == line else []
        elif isinstance(node, ast.Lambda) and name == "<lambda>":
            functions += [node] if node.lineno == line else []
    return functions[0] if len(functions) == 1 else None


def _only_looks(owner: object, name: str) -> bool:
    """Whether a method of an object of the standard library only looks; see :data:`_QUERIES`."""
    kind, attributes = type(owner), all_attributes(owner)
    methods, needed = _QUERIES.get((kind.__module__, kind.__qualname__), _NO_QUERIES)
    is_replaced = any(type(class_attribute(kind, each)) is FunctionType for each in attributes)
    if name not in methods or is_replaced or not _is_of_library(class_attribute(kind, name)):
        return False
    values = ((attributes.get(each), types) for each, types in needed.items())
    return all(type(value) in types if types else _is_lock(value) for value, types in values)


def _is_of_library(method: object) -> bool:
    """Whether a method belongs to the standard library, and not to a module of the user with the same name."""
    return type(method) is FunctionType and library_module(method.__code__) is not None


def _is_lock(value: object) -> bool:
    """Whether a value is a lock of the standard library, or a condition with such a lock, and its blocks are, too."""
    kind = type(value)
    if (kind.__module__, kind.__qualname__) == ("threading", "Condition"):
        return _is_of_library(class_attribute(kind, "wait")) and _is_lock(all_attributes(value).get("_lock"))
    virtual = VirtualLock if issubclass(kind, VirtualLock) else VirtualRLock
    return issubclass(kind, virtual) and all(
        class_attribute(kind, each) is class_attribute(virtual, each) for each in ("__enter__", "__exit__")
    )
