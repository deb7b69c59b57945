"""Confirmation: whether real threads, paused as in an interleaving, fail in the same way as the explorer's."""

from __future__ import annotations

import platform
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kcache_model.finding import FindingKind
from kcache_model.interleaving import Interleaving

from .paused_run import PausedRun, run_paused
from .runner import Shape, compared, is_same_failure
from .script import Script, Stop, script_of

_MOST_ATTEMPTS: Final = 40
_MOST_STUCK: Final = 3
_MOST_COMBINATIONS: Final = 2_000
_FURTHEST: Final = 10
"""How many opcodes of a line are tried beyond what the explorer says that was done of it."""
_NEVER: Final = 1 << 30
_PATIENCE: Final = (1.0, 4.0)
_KINDS: Final = (FindingKind.FAILURE, FindingKind.NONLINEARIZABLE, FindingKind.DEADLOCK)


@dataclass(frozen=True)
class Confirmation:
    """What real threads say of a finding.

    Attributes:
        is_confirmed: whether they fail in the same way.
        text: one line; empty if they have nothing to say of such findings.
    """

    is_confirmed: bool
    text: str


def confirm(
    body: Callable[[], Any],
    interleaving: Interleaving,
    kind: FindingKind,
    shape: Shape,
    pulse: Callable[[], None] = lambda: None,
) -> Confirmation:
    """Run a test with real threads, paused where the interleaving switches them.

    The explorer does not know at which opcode of a line an access takes place in code that is not instrumented: the
    opcodes are tried one after another.

    Args:
        body: the test, from its module as it is installed.
        interleaving: in which it fails.
        kind: how.
        shape: how it is run, and where results are compared, what its threads give one after another.
        pulse: called every now and then.
    """
    if kind not in _KINDS:
        return Confirmation(False, "")
    if interleaving.omitted or not interleaving.followed or not interleaving.events:
        return Confirmation(False, "not tried with real threads: the interleaving is not told from its beginning")
    script = script_of(interleaving)

    def run(script: Script, opcodes: Mapping[int, int], patience: float) -> PausedRun:
        return run_paused(body, script, opcodes, is_whole=shape.is_whole, patience=patience, pulse=pulse)

    def fails(shown: PausedRun) -> bool:
        return _fails(shown, kind, interleaving.summary, shape)

    if not any(fails(shown) for shown in _attempts(script, run)):
        return Confirmation(
            False, "not confirmed with real threads: it may be an artefact, or needs free-threaded Python"
        )
    # What fails now without any interruption says nothing about the interruptions: an attempt may have left something.
    if (
        interleaving.is_interrupted
        and kind is not FindingKind.DEADLOCK
        and fails(run(script.one_after_another(), {}, 1))
    ):
        return Confirmation(
            False, "not confirmed with real threads: the test then fails with the threads one after another, too"
        )
    return Confirmation(True, f"confirmed on {_interpreter()}: the test fails with real threads{_paused(script)}")


def _attempts(script: Script, run: Callable[[Script, Mapping[int, int], float], PausedRun]) -> Iterator[PausedRun]:
    """What different opcodes to stop at show, until it makes no sense to try more."""
    left, stuck = _MOST_ATTEMPTS, 0
    for patience in _PATIENCE:
        was_quiet = False
        overrun: dict[int, int] = {}
        for opcodes in _combinations(script):
            if any(overrun.get(turn, _NEVER) <= opcode < _NEVER for turn, opcode in opcodes.items()):
                continue
            shown = run(script, opcodes, patience)
            yield shown
            left -= 1
            stuck += not shown.has_ended
            if not left or stuck == _MOST_STUCK:
                return
            was_quiet = was_quiet or shown.was_quiet
            for turn in shown.overrun:
                overrun[turn] = min(opcodes[turn], overrun.get(turn, _NEVER))
        if not was_quiet:
            return


def _combinations(script: Script) -> Iterator[Mapping[int, int]]:
    """Opcodes for all stops, those first that are closest to what the explorer says."""
    choices = {turn: _choices(told.stop) for turn, told in enumerate(script.turns) if told.stop is not None}
    inner = [turn for turn, opcodes in choices.items() if len(opcodes) > 1]
    queue = deque([(0,) * len(inner)])
    known = set(queue)
    for _ in range(_MOST_COMBINATIONS):
        if not queue:
            return
        chosen = queue.popleft()
        yield {turn: choices[turn][index] for turn, index in zip(inner, chosen, strict=True)}
        for position, turn in enumerate(inner):
            further = (*chosen[:position], chosen[position] + 1, *chosen[position + 1 :])
            if further[position] < len(choices[turn]) and further not in known:
                known.add(further)
                queue.append(further)


def _choices(stop: Stop) -> Sequence[int]:
    """Before which opcodes of the line that may be."""
    if not stop.done:
        return (0,)
    near = (*range(stop.done, stop.done + _FURTHEST), *range(stop.done - 1, 0, -1))
    return (_NEVER, *near) if stop.is_in_call else near


def _fails(shown: PausedRun, kind: FindingKind, summary: str, shape: Shape) -> bool:
    """Whether a run fails in the way that the explorer tells."""
    if kind is FindingKind.DEADLOCK:
        return shown.is_standstill
    error = shown.error or next(iter(shown.failures), None)
    if kind is FindingKind.FAILURE:
        return error is not None and is_same_failure(error, summary)
    known = shape.orders
    return shown.has_ended and error is None and bool(known) and compared(shown.ends, shown.left) not in (known or {})


def _interpreter() -> str:
    has_gil: bool = getattr(sys, "_is_gil_enabled", lambda: True)()
    return f"{platform.python_implementation()} {platform.python_version()}{'' if has_gil else ' (free-threaded)'}"


def _paused(script: Script) -> str:
    places = [turn.place for turn in script.turns if turn.place]
    return f", paused at {' and '.join(dict.fromkeys(places))}" if places else ", one after another"
