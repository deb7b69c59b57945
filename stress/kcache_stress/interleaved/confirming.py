"""Confirmation: runs a test with real threads to check that they fail in the same way as under the explorer.

First the threads are paused at the switches of the interleaving. Some pauses are impossible, such as pauses within code
that is not instrumented. If no paused run fails, the threads run many times without pauses, but with noise.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Final

from kcache_model.finding import ENDLESS, FindingKind
from kcache_model.interleaving import Interleaving
from kcache_model.outcomes import error_text

from .. import interpreter
from ..real_threads.noise import Level, Noise
from ..target.confirmation import Answer, Confirmation
from .paused_run import PausedRun, run_paused
from .script import Script, Stop, script_of
from .texts import is_same_failure

_MOST_ATTEMPTS: Final = 40
_MOST_STUCK: Final = 3
_MOST_COMBINATIONS: Final = 2_000
_FURTHEST: Final = 10
"""Number of further opcodes of a line to try, starting at the number of events that the thread has done there."""
_NEVER: Final = 1 << 30
_PATIENCE: Final = {1.0: 5, 4.0: 2}
"""Patience, as a factor of the usual waiting times -> number of quiet runs that end the attempts with this patience."""
_MOST_SECONDS: Final = 12.0
LONGEST_SECONDS: Final = 1.0
"""Executions with more seconds of virtual waiting are not tried: real threads would wait for as long."""
_ERRORS: Final = (FindingKind.FAILURE, FindingKind.EXCEPTION)
_KINDS: Final = (*_ERRORS, FindingKind.NONLINEARIZABLE, FindingKind.DEADLOCK)

_FREE_RUNS: Final = 400
_FREE_RUNS_ON_LOOP: Final = 100
"""In one loop, only the moments at which the calls arrive differ from run to run."""
_FREE_SECONDS: Final = 4.0
"""Limit for all free runs of a program, in seconds of processor time. Usual programs need a quarter of it."""
_MOST_WAITED: Final = 8.0
"""Limit for the waits of all runs, in seconds: waits use no processor time. One run waits for its virtual time."""
_LEAST_RUNS: Final = 10
"""Number of runs that are allowed however long each run waits."""
_LEVELS: Final = (None, Level(0.3), Level(1.0), Level(1.0, (1e-6, 2e-4)))
_SWITCH_SECONDS: Final = 1e-5


@dataclass(frozen=True)
class Reproduction:
    """A body to run with real threads, and the failure that it should show.

    Attributes:
        body: function to call; it uses the installed modules, not private copies.
        threads: number of threads that the body starts with ``run``; 0 if the body itself is the first thread.
        is_wrong: whether the results of a finished run are the reported failure.
        symptom: the failure, in a few words.
        seconds: time that an execution waits, in seconds of the virtual time of the explorer.
        unusual: returns the first exception that ended a thread and that does not occur in passing runs.
        overlapped: whether calls overlapped in the last run although no thread was paused: they wait for each other.
        may_stand_still: whether the calls that did not end in the last run may all wait forever.
        is_on_loop: whether an event loop runs the code of all threads, so that none of them can be paused in it.
    """

    body: Callable[[], Any]
    threads: int
    is_wrong: Callable[[PausedRun], bool]
    symptom: str
    seconds: float = 0.0
    unusual: Callable[[Sequence[BaseException]], BaseException | None] = lambda failures: next(iter(failures), None)
    overlapped: Callable[[], bool] = lambda: False
    may_stand_still: Callable[[], bool] = lambda: False
    is_on_loop: bool = False


def confirm(
    reproduction: Reproduction,
    interleaving: Interleaving,
    kind: FindingKind,
    pulse: Callable[[], None] = lambda: None,
    until: float = inf,
) -> Confirmation:
    """Run a body with real threads, paused at the switches of the interleaving, then with noise, until it fails.

    In code that is not instrumented, the explorer does not know at which opcode of a line an access takes place: the
    opcodes are tried one after another.

    Args:
        reproduction: body to run, and its failure.
        interleaving: interleaving of the failing execution, from its beginning.
        kind: kind of the failure.
        pulse: called now and then, as a sign of life.
        until: the moment on ``time.monotonic`` after which no more runs than the first :data:`_LEAST_RUNS` begin.

    Returns:
        ``CONFIRMED`` if a run fails in the same way, or ``CONTRADICTED`` if the interleaving needs an interruption but
        the body then fails without one, too (never for deadlocks); ``NOT_CONFIRMED`` if no run fails; ``NOT_TRIED``
        for other kinds, incomplete interleavings and long waits.
    """
    if kind not in _KINDS:
        return Confirmation(Answer.NOT_TRIED)
    if interleaving.omitted or not interleaving.followed or not interleaving.events:
        return Confirmation(
            Answer.NOT_TRIED, "not tried with real threads: the beginning of the interleaving is not recorded"
        )
    if reproduction.seconds > LONGEST_SECONDS:
        return Confirmation(
            Answer.NOT_TRIED, f"not tried with real threads: they would wait for {reproduction.seconds:,.0f} s"
        )
    script, runs = script_of(interleaving), 0
    script = replace(script, hangs=kind is FindingKind.DEADLOCK and not script.standstill)

    def run(script: Script, opcodes: Mapping[int, int], patience: float) -> PausedRun:
        return run_paused(
            reproduction.body, script, opcodes, threads=reproduction.threads, patience=patience, pulse=pulse
        )

    def fails(observed: PausedRun) -> bool:
        nonlocal runs
        runs += 1
        return _fails(reproduction, observed, kind, interleaving.summary)

    def in_time(attempts: Iterator[PausedRun]) -> Iterator[PausedRun]:
        for observed in itertools.islice(attempts, _most_runs(reproduction)):
            yield observed
            if runs >= _LEAST_RUNS and time.monotonic() > until:
                return

    how = _paused(script)
    attempts = iter(()) if reproduction.is_on_loop else _attempts(script, run)
    if not any(map(fails, in_time(attempts))):
        how = ", with noise"
        if not any(map(fails, in_time(_free_runs(script, run)))):
            text = f"real threads did not fail in {runs} runs{_why_not(interleaving)}"
            return Confirmation(Answer.NOT_CONFIRMED, text)
    # If the body now fails without interruption, too, the interruptions may not be the cause: an attempt may have left
    # changed state behind.
    if (
        interleaving.is_interrupted
        and kind is not FindingKind.DEADLOCK
        and fails(run(script.one_after_another(), {}, 1))
        and not reproduction.overlapped()
    ):
        return Confirmation(
            Answer.CONTRADICTED, f"{reproduction.symptom} even if the real threads run one after another"
        )
    text = f"confirmed on {interpreter.name()}: {reproduction.symptom} with real threads{how}"
    return Confirmation(Answer.CONFIRMED, text)


def _most_runs(reproduction: Reproduction) -> int:
    """Return the maximum number of runs, given the time that each run waits."""
    most = _FREE_RUNS_ON_LOOP if reproduction.is_on_loop else _FREE_RUNS
    return max(_LEAST_RUNS, int(min(_MOST_WAITED / max(reproduction.seconds, 1e-9), most)))


def run_freely(reproduction: Reproduction, pulse: Callable[[], None] = lambda: None) -> str:
    """Call the body of a reproduction many times with real threads and noise, and return the result as a clause."""
    runs, body = 0, reproduction.body
    for observed in _free_runs(Script((), {}), lambda script, *_: run_paused(body, script, {}, threads=0, pulse=pulse)):
        runs += 1
        error = observed.error or reproduction.unusual(observed.failures)
        if error is not None:
            return f"real threads, without pauses, failed in run {runs}: {error_text(error)}"
    return f"real threads, without pauses, did not fail in {runs} runs"


def _attempts(script: Script, run: Callable[[Script, Mapping[int, int], float], PausedRun]) -> Iterator[PausedRun]:
    """Yield runs that pause at different opcodes, until the limits of attempts, stuck runs, quiet runs or time."""
    remaining, stuck, until = _MOST_ATTEMPTS, 0, time.process_time() + _MOST_SECONDS
    for patience, most_quiet in _PATIENCE.items():
        quiet = 0
        overrun: dict[int, int] = {}
        for opcodes in _combinations(script):
            if any(overrun.get(turn, _NEVER) <= opcode < _NEVER for turn, opcode in opcodes.items()):
                continue
            observed = run(script, opcodes, patience)
            yield observed
            remaining -= 1
            stuck += not observed.has_ended
            if not remaining or stuck == _MOST_STUCK or time.process_time() > until:
                return
            quiet += observed.was_quiet
            if quiet == most_quiet:
                break
            for turn in observed.overrun:
                overrun[turn] = min(opcodes[turn], overrun.get(turn, _NEVER))
        if not quiet:
            return


def _free_runs(script: Script, run: Callable[[Script, Mapping[int, int], float], PausedRun]) -> Iterator[PausedRun]:
    """Yield runs in which the threads are not paused, at alternating levels of noise."""
    until, freely, stuck = time.process_time() + _FREE_SECONDS, replace(script, turns=(), visits={}), 0
    noise, before = Noise(0, with_library=True), sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        for level in itertools.islice(itertools.cycle(_LEVELS), _FREE_RUNS):
            with noise.at(level):
                observed = run(freely, {}, 1)
            yield observed
            stuck += not observed.has_ended
            if stuck == _MOST_STUCK or time.process_time() > until:
                return
    finally:
        sys.setswitchinterval(before)
        noise.close()


def _combinations(script: Script) -> Iterator[Mapping[int, int]]:
    """Yield turn -> opcode to stop at; the combinations closest to the events of the explorer come first."""
    choices = {turn: _choices(entry.stop) for turn, entry in enumerate(script.turns) if entry.stop is not None}
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
    """Return candidate opcodes for a stop, as positions within the visit; ``_NEVER`` lets the visit run to its end."""
    if not stop.events:
        return (0,)
    near = (*range(stop.events, stop.events + _FURTHEST), *range(stop.events - 1, 0, -1))
    return (_NEVER, *near) if stop.is_in_call else near


def _fails(reproduction: Reproduction, observed: PausedRun, kind: FindingKind, summary: str) -> bool:
    """Whether a run shows the failure that the explorer reported."""
    if kind in ENDLESS:
        return observed.is_standstill and not reproduction.may_stand_still()
    error = observed.error or reproduction.unusual(observed.failures)
    if error is not None:
        return kind in _ERRORS and is_same_failure(error, summary)
    return kind is not FindingKind.FAILURE and observed.has_ended and reproduction.is_wrong(observed)


def _why_not(interleaving: Interleaving) -> str:
    switches = (event.switch for event in interleaving.events)
    if interleaving.is_interrupted and not any(switch is not None and switch.is_preemption for switch in switches):
        return "; they cannot be paused in code that is not instrumented"
    return ""


def _paused(script: Script) -> str:
    places = [turn.place for turn in script.turns if turn.place]
    return f", paused at {' and '.join(dict.fromkeys(places))}" if places else ", one after another"
