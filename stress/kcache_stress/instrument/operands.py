"""Operands of opcodes: the objects on the value stack of a frame, read before an opcode runs.

A trace function knows the frame and the offset, but no frame attribute has the operands. They lie in memory: a frame
object refers to the interpreter's frame, which ends with the variables and the value stack. The place of the variables
is found once, with a function whose variables are known; if it is not found, no operand is ever read. The depth of the
stack before each opcode follows from the code alone (``dis.stack_effect``), as the compiler of Python requires it.

Alternatives: to simulate the stack would need the results of all opcodes. To rewrite the code, so that each operand
passes through a function, would share the faults of the other rewriting, which this module is there to find.
"""

from __future__ import annotations

import ctypes
import dis
import functools
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, Final

_WORD: Final = ctypes.sizeof(ctypes.c_void_p)
_INNER: Final = object.__basicsize__ + _WORD
"""Offset, in a frame object, of the pointer to the interpreter's frame: after the head of the object and ``f_back``."""
_TAGS: Final = 3
"""Bits of a reference that are no part of the address, from Python 3.14 on and in free-threaded builds."""
_MOST_WORDS: Final = 20
"""An interpreter's frame has 9 to 11 words before its variables."""
_ENDS: Final = frozenset(
    {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "RERAISE", "RAISE_VARARGS", "INTERPRETER_EXIT"}
    | {"RETURN_VALUE", "RETURN_CONST"}
)
"""Opcodes after which the next one does not follow."""
_JUMPS: Final = frozenset({*dis.hasjrel, *dis.hasjabs})
_SPLIT_CALL: Final = frozenset({"PRECALL", "CALL"})
"""The two opcodes of a call in Python 3.11."""
_GENERATORS: Final = 0x20 | 0x80 | 0x200
"""``co_flags`` of generators, coroutines and asynchronous generators."""


def operands(frame: FrameType, depth: int, count: int) -> list[Any] | None:
    """Return the ``count`` uppermost objects of the value stack, the uppermost one last; ``None`` for an empty place.

    Args:
        frame: a frame that is about to run an opcode, within its trace function.
        depth: the number of objects on its stack, as :func:`depths` returns it.
        count: number of objects; at most ``depth``.

    Returns:
        The objects; ``None`` if this Python keeps them elsewhere.
    """
    first = _first_variable()
    if first is None or not 0 <= count <= depth:
        return None
    top = _word(id(frame) + _INNER) + (first + variables(frame.f_code) + depth) * _WORD
    return [_object(_word(top - place * _WORD)) for place in range(count, 0, -1)]


def variable(frame: FrameType, index: int) -> Any:
    """Return the content of a place for variables, which is the cell of a closure variable; ``None`` if unknown."""
    first = _first_variable()
    return None if first is None else _object(_word(_word(id(frame) + _INNER) + (first + index) * _WORD))


@functools.cache
def variables(code: CodeType) -> int:
    """Return the number of places for variables and cells: a parameter that is a cell has one place."""
    return len({*code.co_varnames, *code.co_cellvars}) + len(code.co_freevars)


def depths(code: CodeType) -> dict[int, int]:
    """Return the number of objects on the stack before each opcode that can be reached: offset -> number."""
    instructions = {each.offset: each for each in dis.get_instructions(code)}
    following = dict(zip(instructions, list(instructions)[1:], strict=False))
    by_offset: dict[int, int] = {}
    first = int(bool(code.co_flags & _GENERATORS) and not dis.stack_effect(dis.opmap["RETURN_GENERATOR"]))
    todo = [(0, first), *_handlers(code)]
    while todo:
        offset, depth = todo.pop()
        if offset in by_offset:
            continue
        by_offset[offset] = depth
        each = instructions[offset]
        if each.opcode in _JUMPS:
            todo.append((each.argval, depth + _effect(each, jump=True)))
        if each.opname not in _ENDS and offset in following:
            todo.append((following[offset], depth + _effect(each, jump=False)))
    return by_offset


def _effect(each: dis.Instruction, *, jump: bool) -> int:
    """Return the change of the depth by an opcode."""
    if each.opname in _SPLIT_CALL and "PRECALL" in dis.opmap:  # `dis` counts the arguments as gone after PRECALL
        return 0 if each.opname == "PRECALL" else -1 - (each.arg or 0)
    return dis.stack_effect(each.opcode, None if each.opcode < dis.HAVE_ARGUMENT else each.arg, jump=jump)


def _handlers(code: CodeType) -> Iterator[tuple[int, int]]:
    """Yield the offset of each exception handler, with the depth at its begin: the exception is on the stack."""
    for entry in dis._parse_exception_table(code):  # type: ignore[attr-defined]
        yield entry.target, entry.depth + entry.lasti + 1


@functools.cache
def _first_variable() -> int | None:
    """Return the number of words before the variables in the frames of this interpreter; ``None`` if unknown."""
    if sys.implementation.name != "cpython":
        return None

    def probe(*filling: object) -> int | None:
        one, two, three, four, five = (object() for _ in range(5))
        wanted = [id(filling), id(one), id(two), id(three), id(four), id(five)]
        inner = _word(id(sys._getframe()) + _INNER)
        words = [_word(inner + place * _WORD) & ~_TAGS for place in range(_MOST_WORDS)]
        return next((at for at in range(_MOST_WORDS) if words[at : at + len(wanted)] == wanted), None)

    return probe(*range(_MOST_WORDS))


def _word(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value


def _object(reference: int) -> Any:
    address = reference & ~_TAGS
    return ctypes.cast(address, ctypes.py_object).value if address else None
