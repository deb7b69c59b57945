"""Operands of opcodes, read from the frames of this interpreter, while code of the standard library runs."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import dataclasses
import dis
import json
import string
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

import pytest

from kcache_stress.instrument import operands as module
from kcache_stress.instrument.operands import depths, operands, variable, variables

_STACK_TOP = 8
"""Word of a frame in which Python 3.11 keeps the height of its stack while a trace function runs."""
SeenOpcode = Callable[[FrameType, dis.Instruction, int], None]


def _while_tracing(work: Callable[[], object], see: SeenOpcode) -> None:
    """Run ``work``; call ``see`` with each opcode that is about to run, and with the depth of the stack."""
    known: dict[int, tuple[dict[int, int], dict[int, dis.Instruction], CodeType]] = {}

    def opcode(frame: FrameType, event: str, _argument: object) -> Any:
        if event == "opcode":
            depth, instructions, _ = known[id(frame.f_code)]
            each = instructions[frame.f_lasti]
            if each.opname != "EXTENDED_ARG":
                see(frame, each, depth[each.offset])
        return opcode

    def begin(frame: FrameType, _event: str, _argument: object) -> Any:
        code = frame.f_code
        if id(code) not in known:
            known[id(code)] = depths(code), {each.offset: each for each in dis.get_instructions(code)}, code
        frame.f_trace, frame.f_trace_lines, frame.f_trace_opcodes = opcode, False, True
        return opcode

    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True
    sys.settrace(begin)
    try:
        work()
    finally:
        sys.settrace(before)


def _generator(count: int) -> Iterator[int]:
    for number in range(count):
        with contextlib.suppress(ZeroDivisionError):
            yield number // (number - 1)


def _nested(first: int, *others: int, **named: int) -> Callable[[], list[int]]:
    total = first + sum(others)

    def inner() -> list[int]:
        nonlocal total
        total += 1
        return [total * each + named.get("shift", 0) for each in (first, *others)]

    return inner


class _Base:
    def method(self, *arguments: object, **named: object) -> tuple[object, ...]:
        return (*arguments, *named)


class _Derived(_Base):
    def method(self, *arguments: object, **named: object) -> tuple[object, ...]:
        return super().method(*arguments, self, **named)


def _matched(subject: object) -> object:
    match subject:
        case {"one": one, **rest}:
            return one, rest
        case [first, *_, last] if first != last:
            return first
        case _:
            return None


def _everything() -> None:
    json.loads(json.dumps({"a": [1, 2.5, None], "b": {"c": "text"}}, indent=1))
    textwrap.dedent(textwrap.fill("some words that are wrapped " * 5, 30))
    string.Template("$one and ${two}").substitute(one=1, two=2)
    made = dataclasses.make_dataclass("Made", [("x", int), ("y", int, dataclasses.field(default=1))], frozen=True)
    assert dataclasses.replace(made(3), y=4) == copy.deepcopy(made(3, 4))
    list(_generator(4))
    assert _nested(1, 2, shift=3)() == _nested(*[1, 2], shift=3)()
    _Derived().method(1, *(2, 3), four=4)
    for subject in ({"one": 1, "two": 2}, [1, 2, 3], 5):
        _matched(subject)
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.nullcontext(5))
        stack.callback(list)
    sliced = list(range(9))
    sliced[1:3] = [0]
    del sliced[0]
    assert sliced[2:4]
    assert not (sliced[0] in sliced[1:] and sliced < [1])


def test_the_depth_of_the_stack_is_the_one_of_the_interpreter() -> None:
    if sys.version_info >= (3, 12):
        pytest.skip("only Python 3.11 writes the height of the stack into the frame")
    count = 0

    def see(frame: FrameType, each: dis.Instruction, depth: int) -> None:
        nonlocal count
        inner = module._word(id(frame) + module._INNER)
        height = ctypes.c_int.from_address(inner + _STACK_TOP * ctypes.sizeof(ctypes.c_void_p)).value
        assert depth == height - variables(frame.f_code), each
        count += 1

    _while_tracing(_everything, see)
    assert count > 10_000


def test_the_operands_are_what_the_opcodes_need() -> None:
    seen = {"attribute": 0, "other": 0, "call": 0, "cell": 0, "iterator": 0}

    def see(frame: FrameType, each: dis.Instruction, depth: int) -> None:
        if each.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            found = operands(frame, depth, 1)
            assert found is not None
            known = object.__dir__(found[0]) if not isinstance(found[0], type) else dir(found[0])
            seen["attribute"] += each.argval in known
            seen["other"] += each.argval not in known
        elif each.opname == "CALL":
            found = operands(frame, depth, (each.arg or 0) + 2)
            assert found is not None
            assert callable(found[0]) or callable(found[1]), (each, found)
            seen["call"] += 1
        elif each.opname == "LOAD_DEREF":
            assert type(variable(frame, each.arg or 0)) is types.CellType
            seen["cell"] += 1
        elif each.opname == "FOR_ITER":
            found = operands(frame, depth, 1)
            assert found is not None
            assert hasattr(found[0], "__next__"), (each, found)
            seen["iterator"] += 1

    _while_tracing(_everything, see)
    assert seen["attribute"] > 400
    assert seen["other"] < seen["attribute"] / 20  # code that tries whether an object has an attribute
    assert seen["call"] > 500
    assert seen["cell"] > 3
    assert seen["iterator"] > 50


def test_an_interpreter_with_other_frames_has_no_operands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_first_variable", lambda: None)
    assert operands(sys._getframe(), 1, 1) is None
    assert variable(sys._getframe(), 0) is None
