"""Position of a paused frame: the instruction in progress, and the call in the source that it belongs to."""

from __future__ import annotations

import dis
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Final

from ..instrument.call_sites import CALL, YIELD, Path
from ..instrument.names import SITES

_TWO_FOR_ONE: Final = {
    ("YIELD_VALUE", "RESUME"),  # a generator that waits to be resumed
    ("LOAD_SPECIAL", "CALL"),  # of `__enter__`, from Python 3.14 on
}


@dataclass(frozen=True)
class Position:
    """An instruction.

    Attributes:
        operation: its name.
        end: line and column where the expression ends that it belongs to.
    """

    operation: str
    end: tuple[int | None, int | None]

    @property
    def is_call(self) -> bool:
        """Whether it calls what an expression says."""
        return self.operation.startswith(("CALL", "PRECALL"))

    @property
    def is_yield(self) -> bool:
        """Whether it hands out a value."""
        return self.operation == "YIELD_VALUE"

    @property
    def enters_context(self) -> bool:
        """Whether it begins a `with` block."""
        return self.operation in ("BEFORE_WITH", "LOAD_SPECIAL")

    def site(self, frame: FrameType) -> Path | None:
        """What is called there, as far as it can be known; ``None`` if something is hidden on the stack meanwhile."""
        path: Path | None = frame.f_globals.get(SITES, {}).get((YIELD if self.is_yield else CALL, *self.end))
        return path


_known: dict[tuple[int, int], tuple[Position, CodeType]] = {}
"""By id of the code, which takes long to hash; it is kept alive."""


def position_of(frame: FrameType) -> Position:
    """The position of a frame that waits for a call, or that has handed out a value."""
    code, offset = frame.f_code, frame.f_lasti
    found = _known.get((id(code), offset))
    if found is None:
        found = _known[id(code), offset] = (_find(code, offset), code)
    return found[0]


def _find(code: CodeType, offset: int) -> Position:
    before: list[dis.Instruction] = []
    for instruction in dis.get_instructions(code):
        if instruction.offset > offset:
            break
        if instruction.opname != "CACHE":
            before.append(instruction)
    if tuple(instruction.opname for instruction in before[-2:]) in _TWO_FOR_ONE:
        before.pop()
    if not before:
        return Position("", (None, None))
    positions = before[-1].positions
    return Position(before[-1].opname, (positions.end_lineno, positions.end_col_offset) if positions else (None, None))
