"""Variables that a function shares with the functions within it, and who changes them."""

import dis
from collections.abc import Collection
from types import CodeType
from typing import Final

from ..instrument.names import PREFIX

_REBINDING: Final = frozenset({"STORE_DEREF", "DELETE_DEREF"})


def rebindings(code: CodeType, names: Collection[str]) -> list[str]:
    """Which of the shared variables `names` the code itself binds or deletes, once for each place where it does."""
    return [
        found.argval for found in dis.get_instructions(code) if found.opname in _REBINDING and found.argval in names
    ]


def has_shared_variables(code: CodeType) -> bool:
    """Whether closures share variables with it that change: which closure has which cannot be read."""
    inner = [constant for constant in _codes_within(code) if not constant.co_name.startswith(PREFIX)]
    captured = {name for other in inner for name in other.co_freevars} & set(code.co_cellvars)
    if not captured:
        return False
    places = rebindings(code, captured)
    return len(places) > len(set(places)) or any(_rebinds(other, captured) for other in inner)


def _rebinds(code: CodeType, names: Collection[str]) -> bool:
    """Whether the code, or any within it, binds or deletes one of the names."""
    return bool(rebindings(code, names)) or any(_rebinds(inner, names) for inner in _codes_within(code))


def _codes_within(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]
