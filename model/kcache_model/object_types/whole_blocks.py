"""Programs with complete blocks: each ``with`` block ends, and a result is used only after it was returned.

A call on the result of another call is made by the thread that has this result. A connection or a transaction is not
meant for two threads; if both threads get the same object, they share it because the class gives it to both. Nor is it
used after a call that ends it, such as ``close`` or ``release``, because then it may belong to another thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from ..call_program import CallProgram
from .method_call import Form, MethodCall, result_name

_ENDING: Final = frozenset(
    (
        *("abort", "aclose", "cancel", "close", "commit", "complete", "delete", "destroy", "detach", "disconnect"),
        *("discard", "dispose", "end", "exit", "finish", "free", "giveback", "join", "release", "remove", "return"),
        *("revoke", "rollback", "shutdown", "stop", "terminate", "unregister", "unsubscribe"),
    )
)
"""First words of the names of methods that end the object on which they are called."""


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
    """Complete a program: make the calls whose results other calls are made on, and end all blocks.

    Blocks end in the last calls of their threads; other ends of blocks are removed.
    """
    return program.with_calls(_ended(program.prefix), tuple(map(_ended, program.threads)))


def end_of(begin: MethodCall) -> MethodCall:
    """Create the call that ends the block that ``begin`` begins."""
    return replace(begin, name=f"{begin.block}.exit", arguments=(), keywords=(), form=Form.EXIT)


def with_receivers(calls: Sequence[MethodCall]) -> tuple[MethodCall, ...]:
    """Insert the calls whose results other calls are made on, where the thread has no such result."""
    if all(call.of is None for call in calls):
        return tuple(calls)
    whole: list[MethodCall] = []
    usable: set[str] = set()
    for call in calls:
        for before in (call.of, call.after):
            if before is not None and before.name not in usable:
                whole.append(before)
                _use(usable, before)
        whole.append(call)
        _use(usable, call)
    return tuple(whole)


def _use(usable: set[str], call: MethodCall) -> None:
    """Note which calls others may follow: now this call, and no longer the one that it undoes or whose result it ends.

    Calls on a result do not count for the next result of the same call.
    """
    if call.form is Form.EXIT:
        usable.discard(f"{call.block}.enter")
    elif call.of is not None and call.own_name.partition("_")[0] in _ENDING:
        usable.discard(call.of.name)
    if call.after is not None:
        usable.discard(call.after.name)
    usable -= {name for name in usable if name.startswith(f"{result_name(call.name)}.")}
    usable.add(call.name)


def _ended(calls: Sequence[MethodCall]) -> tuple[MethodCall, ...]:
    calls = with_receivers(calls)
    if all(call.form not in (Form.ENTER, Form.EXIT) for call in calls):
        return tuple(calls)
    own = [call for call in calls if call.form is not Form.EXIT]
    begun = [call for call in own if call.form is Form.ENTER]
    return (*own, *(end_of(call) for call in reversed(begun)))


def _has_results(calls: Sequence[MethodCall], before: set[str]) -> bool:
    made = set(before)
    usable: set[str] = set()
    for call in calls:
        followed = {before.name for before in (call.of, call.after) if before is not None}
        if not (made.issuperset(call.needs) and usable.issuperset(followed)):
            return False
        made.add(call.name)
        _use(usable, call)
    return True


def _is_balanced(calls: Sequence[MethodCall]) -> bool:
    begun: list[str] = []
    for call in calls:
        if call.form is Form.ENTER:
            begun.append(call.block)
        elif call.form is Form.EXIT and (not begun or begun.pop() != call.block):
            return False
    return not begun
