"""Bytecodes that other threads can notice. Between two of them, it makes no difference where a thread is preempted."""

from __future__ import annotations

import dis
import sys
from types import CodeType

_UNNOTICED = (
    "BUILD_",
    "CACHE",
    "CHECK_EXC_MATCH",
    "COPY",
    "DELETE_FAST",
    "END_FOR",
    "EXTENDED_ARG",
    "IS_OP",
    "JUMP_",
    "KW_NAMES",
    "LOAD_CLOSURE",
    "LOAD_CONST",
    "LOAD_FAST",
    "LOAD_GLOBAL",
    "LOAD_SMALL_INT",
    "MAKE_",
    "NOP",
    "NOT_TAKEN",
    "POP_EXCEPT",
    "POP_ITER",
    "POP_TOP",
    "PRECALL",
    "PUSH_",
    "RESUME",
    "SET_FUNCTION_ATTRIBUTE",
    "STORE_FAST",
    "SWAP",
)
"""Prefixes of the names of bytecodes that use a thread's own locals, constants, or nothing at all."""

_UNNOTICED_JUMPS = ("POP_JUMP_",) if sys.version_info >= (3, 13) else ("POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE")
"""Jumps that call no code of an object. Before Python 3.13, other jumps call ``__bool__`` or ``__len__``."""

_IS_NOTICED = tuple(not name.startswith(_UNNOTICED + _UNNOTICED_JUMPS) for name in dis.opname)


def noticed_offsets(code: CodeType) -> frozenset[int]:
    """Return the offsets of the bytecodes that other threads can notice."""
    return frozenset(offset for offset, opcode in enumerate(code.co_code) if offset % 2 == 0 and _IS_NOTICED[opcode])
