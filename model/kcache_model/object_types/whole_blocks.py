"""Programs with complete blocks: each ``with`` block ends, and a result is passed on only after it was returned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..call_program import CallProgram
from .method_call import Form, MethodCall


def is_whole(program: CallProgram[MethodCall]) -> bool:
    """Whether results are passed on only after they were returned, and each thread ends the blocks that it began.

    A result may come from the same thread, or from the set-up. If a block stayed open, other calls would wait because
    of a mistake of the program. The threads may read at most one attribute: no class promises that two attributes, read
    one after another without its lock, are consistent.
    """
    attributes = {
        call.name for calls in program.threads for call in calls if call.form is Form.READ and not call.is_write
    }
    if len(attributes) > 1:
        return False
    before = {call.name for call in program.prefix}
    return all(
        _has_results(calls, before if number else set()) and _is_balanced(calls)
        for number, calls in enumerate((program.prefix, *program.threads))
    )


def with_ends(program: Any) -> Any:
    """Complete a program: end all blocks in the last calls of their threads, and remove other ends of blocks."""
    return program.with_calls(_ended(program.prefix), tuple(map(_ended, program.threads)))


def end_of(begin: MethodCall) -> MethodCall:
    """Create the call that ends the block that ``begin`` begins."""
    return replace(begin, name=f"{begin.attribute}.exit", arguments=(), keywords=(), form=Form.EXIT)


def _ended(calls: Sequence[MethodCall]) -> tuple[MethodCall, ...]:
    if all(call.form not in (Form.ENTER, Form.EXIT) for call in calls):
        return tuple(calls)
    own = [call for call in calls if call.form is not Form.EXIT]
    begun = [call for call in own if call.form is Form.ENTER]
    return (*own, *(end_of(call) for call in reversed(begun)))


def _has_results(calls: Sequence[MethodCall], before: set[str]) -> bool:
    made = set(before)
    for call in calls:
        if not made.issuperset(call.needs):
            return False
        made.add(call.name)
    return True


def _is_balanced(calls: Sequence[MethodCall]) -> bool:
    begun: list[str] = []
    for call in calls:
        if call.form is Form.ENTER:
            begun.append(call.attribute)
        elif call.form is Form.EXIT and (not begun or begun.pop() != call.attribute):
            return False
    return not begun
