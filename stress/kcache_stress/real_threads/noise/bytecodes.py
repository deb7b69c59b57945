"""Bytecodes that others can notice. Between two of these, it makes no difference where a thread is interrupted."""

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
"""How the names of bytecodes begin that deal with a thread's own locals, with constants, or with nothing."""

_UNNOTICED_JUMPS = ("POP_JUMP_",) if sys.version_info >= (3, 13) else ("POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE")
"""Before 3.13 the others call ``__bool__`` or ``__len__``."""

_IS_NOTICED = tuple(not name.startswith(_UNNOTICED + _UNNOTICED_JUMPS) for name in dis.opname)


def noticed_offsets(code: CodeType) -> frozenset[int]:
    """The offsets of those bytecodes."""
    return frozenset(offset for offset, opcode in enumerate(code.co_code) if offset % 2 == 0 and _IS_NOTICED[opcode])
