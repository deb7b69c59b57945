"""Programs with complete blocks: each ``with`` block ends, and a result is used only after it was returned.

A call on the result of another call is made by the thread that has this result. A connection or a transaction is not
meant for two threads; if both threads get the same object, they share it because the class gives it to both. Nor is it
used after a call that ends it, such as ``close`` or ``release``, because then it may belong to another thread; nor
after its block, nor after it was passed to another call, as a connection is given back to its pool.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from ..call_program import CallProgram
from .method_call import Form, MethodCall, result_name

_ENDING: Final = frozenset(
    (
        *("abort", "aclose", "cancel", "checkin", "close", "commit", "complete", "delete", "destroy", "detach"),
        *("disconnect", "discard", "dispose", "done", "end", "exit", "finish", "free", "give", "giveback", "join"),
        *("putback", "recycle", "release", "relinquish", "remove", "restore", "return", "revoke", "rollback"),
        *("shutdown", "stop", "terminate", "unlock", "unregister", "unsubscribe"),
    )
)
"""First words of the names of methods that end the object on which they are called."""
_FIRST_WORD: Final = re.compile(r"(check_?in|put_?back)|_*([a-z]+)")
_IN_BLOCK: Final = "block of "
"""Prefix of the mark that a thread is in the block of a result."""


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
        if call.of is not None and _ends_block(usable, call):
            usable.discard(call.of.name)
        for before in (call.of, call.after):
            if before is not None and before.name not in usable and call.form is not Form.EXIT:
                whole.append(before)
                _use(usable, before)
        whole.append(call)
        _use(usable, call)
    return tuple(whole)


def _use(usable: set[str], call: MethodCall) -> None:
    """Note which calls others may follow: now this call, and no longer the one that it undoes or whose result it ends.

    Calls on a result do not count for the next result of the same call.
    """
    usable.difference_update(call.results)
    if call.of is not None and call.form is Form.ENTER and _is_of_itself(call):
        usable.add(f"{_IN_BLOCK}{call.of.name}")
    elif call.form is Form.EXIT:
        usable.discard(f"{call.block}.enter")
    if call.of is not None and _ends(call):
        usable.discard(call.of.name)
    if call.after is not None:
        usable.discard(call.after.name)
    usable -= {name for name in usable if name.startswith(f"{result_name(call.name)}.")}
    usable.discard(f"{_IN_BLOCK}{call.name}")
    usable.add(call.name)


def _is_of_itself(call: MethodCall) -> bool:
    """Whether the block that a call begins or ends is the object itself."""
    return call.attribute in ("__enter__", "__aenter__")


def _ends(call: MethodCall) -> bool:
    """Whether a call ends the object on which it is made."""
    if call.form in (Form.ENTER, Form.EXIT):
        return call.form is Form.EXIT and _is_of_itself(call)
    word = _FIRST_WORD.match(call.own_name)
    return call.form is Form.CALL and word is not None and word[0].replace("_", "") in _ENDING


def _ends_block(usable: set[str], call: MethodCall) -> bool:
    """Whether a call ends or enters an object in whose block the thread is: the end of the block would do it again."""
    is_in_block = call.of is not None and f"{_IN_BLOCK}{call.of.name}" in usable
    return is_in_block and call.form is not Form.EXIT and (_ends(call) or call.form is Form.ENTER)


def _ended(calls: Sequence[MethodCall]) -> tuple[MethodCall, ...]:
    own = with_receivers([call for call in calls if call.form is not Form.EXIT])
    begun = [call for call in own if call.form is Form.ENTER]
    return (*own, *(end_of(call) for call in reversed(begun)))


def _has_results(calls: Sequence[MethodCall], before: set[str]) -> bool:
    made = set(before)
    usable: set[str] = set()
    for call in calls:
        followed = {
            before.name for before in (call.of, call.after) if before is not None and call.form is not Form.EXIT
        }
        if not (made.issuperset(call.needs) and usable.issuperset(followed)) or _ends_block(usable, call):
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
