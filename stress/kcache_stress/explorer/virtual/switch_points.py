"""The opcodes of a piece of code before which threads may be switched."""

from __future__ import annotations

import dis
from types import CodeType
from typing import Final

_LOCAL: Final = frozenset(
    """
    CACHE NOP EXTENDED_ARG KW_NAMES PRECALL PUSH_NULL POP_TOP COPY SWAP IS_OP END_FOR END_SEND
    LOAD_CONST LOAD_CLOSURE LOAD_ASSERTION_ERROR LOAD_BUILD_CLASS LOAD_LOCALS
    LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_AND_CLEAR LOAD_FAST_LOAD_FAST STORE_FAST STORE_FAST_LOAD_FAST
    STORE_FAST_STORE_FAST DELETE_FAST MAKE_CELL COPY_FREE_VARS MAKE_FUNCTION SET_FUNCTION_ATTRIBUTE
    BUILD_TUPLE BUILD_LIST BUILD_SLICE BUILD_STRING BUILD_CONST_KEY_MAP LIST_APPEND LIST_TO_TUPLE
    RETURN_VALUE RETURN_CONST RETURN_GENERATOR ASYNC_GEN_WRAP PUSH_EXC_INFO POP_EXCEPT CHECK_EXC_MATCH RERAISE
    JUMP_FORWARD JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT JUMP_NO_INTERRUPT
    POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE
    POP_JUMP_BACKWARD_IF_NONE POP_JUMP_BACKWARD_IF_NOT_NONE MATCH_MAPPING MATCH_SEQUENCE
    """.split()  # noqa: SIM905 (a table)
)
"""What concerns the frame alone, in any version; what is not named here counts. An object may die in some of these, and
its finalizer run: it is switched in the finalizer, not before it."""

_CHECKED_AFTERWARDS: Final = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION_EX", "RESUME", "WITH_EXCEPT_START"})
_CHECKED_BEFORE: Final = ("JUMP_BACKWARD", "POP_JUMP_BACKWARD")


def switch_points(code: CodeType, *, with_gil: bool) -> frozenset[int]:
    """The offsets of the opcodes of ``code`` before which a thread may be left."""
    return frozenset(_under_the_gil(code) if with_gil else _anywhere(code))


def _anywhere(code: CodeType) -> set[int]:
    points = set()
    prefix: int | None = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "EXTENDED_ARG":  # some versions tell of it instead of what it belongs to
            prefix = instruction.offset if prefix is None else prefix
            continue
        if instruction.opname not in _LOCAL:
            points.add(instruction.offset)
            if prefix is not None:
                points.add(prefix)
        prefix = None
    return points


def _under_the_gil(code: CodeType) -> set[int]:
    """Where the interpreter looks whether another thread wants to run."""
    points = set()
    before = ""
    for instruction in dis.get_instructions(code):
        name = instruction.opname
        is_jump = name.startswith(_CHECKED_BEFORE) and not name.endswith("NO_INTERRUPT")
        if before in _CHECKED_AFTERWARDS or is_jump:
            points.add(instruction.offset)
        before = name
    return points
