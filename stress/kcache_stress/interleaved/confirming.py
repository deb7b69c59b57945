"""Confirmation: whether real threads fail in the same way as the explorer's.

They are paused as in the interleaving first. Some pauses cannot be taken, such as those within code that is not
instrumented: then the threads run freely many times, with noise.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kcache_model.finding import FindingKind
from kcache_model.interleaving import Interleaving
from kcache_model.outcomes import error_text

from .. import interpreter
from ..real_threads.noise import Level, Noise
from ..target.confirmation import ENDLESS, Answer, Confirmation
from .paused_run import PausedRun, run_paused
from .script import Script, Stop, script_of
from .texts import is_same_failure

_MOST_ATTEMPTS: Final = 40
_MOST_STUCK: Final = 3
_MOST_COMBINATIONS: Final = 2_000
_FURTHEST: Final = 10
"""How many opcodes of a line are tried beyond what the explorer says that was done of it."""
_NEVER: Final = 1 << 30
_PATIENCE: Final = {1.0: 5, 4.0: 2}
"""How many times as long as usual to wait -> how many runs in which a thread did nothing, out of turn, are enough."""
_MOST_SECONDS: Final = 12.0
LONGEST_SECONDS: Final = 1.0
"""What waits longer, by virtual time, is not tried: real threads would."""
_ERRORS: Final = (FindingKind.FAILURE, FindingKind.EXCEPTION)
_KINDS: Final = (*_ERRORS, FindingKind.NONLINEARIZABLE, FindingKind.DEADLOCK)

_FREE_RUNS: Final = 400
_FREE_SECONDS: Final = 4.0
"""Ends the free runs of programs that are slow themselves; usual ones take a quarter of it."""
_MOST_WAITED: Final = 8.0
"""Seconds that all runs may wait together, by the virtual time of one: waits use no processor time."""
_LEAST_RUNS: Final = 10
"""However long each of them waits."""
_LEVELS: Final = (None, Level(0.3), Level(1.0), Level(1.0, (1e-6, 2e-4)))
_SWITCH_SECONDS: Final = 1e-5


@dataclass(frozen=True)
class Trial:
    """What real threads are to do, and to show.

    Attributes:
        body: what to call; from modules as they are installed.
        threads: how many threads it asks for together; 0 if it is itself the first of the interleaving.
        goes_wrong: whether it is wrong what a run has given that came to its end.
        told: what goes wrong, in a few words.
        seconds: how long it waits, by the virtual time of the explorer.
        unusual: returns the first exception that ended a thread, as none does where all goes well.
        overlapped: whether calls overlapped in the last run, though nothing paused a thread: they wait for each other.
    """

    body: Callable[[], Any]
    threads: int
    goes_wrong: Callable[[PausedRun], bool]
    told: str
    seconds: float = 0.0
    unusual: Callable[[Sequence[BaseException]], BaseException | None] = lambda failures: next(iter(failures), None)
    overlapped: Callable[[], bool] = lambda: False


def confirm(
    trial: Trial, interleaving: Interleaving, kind: FindingKind, pulse: Callable[[], None] = lambda: None
) -> Confirmation:
    """Try with real threads what goes wrong in an interleaving, paused where it switches them.

    The explorer does not know at which opcode of a line an access takes place in code that is not instrumented: the
    opcodes are tried one after another.

    Args:
        trial: what they do.
        interleaving: in which that goes wrong.
        kind: how.
        pulse: called every now and then.
    """
    if kind not in _KINDS:
        return Confirmation(Answer.NOT_TRIED)
    if interleaving.omitted or not interleaving.followed or not interleaving.events:
        return Confirmation(
            Answer.NOT_TRIED, "not tried with real threads: the interleaving is not told from its beginning"
        )
    if trial.seconds > LONGEST_SECONDS:
        return Confirmation(
            Answer.NOT_TRIED, f"not tried with real threads: they would wait for {trial.seconds:,.0f} s"
        )
    script, runs = script_of(interleaving), 0

    def run(script: Script, opcodes: Mapping[int, int], patience: float) -> PausedRun:
        return run_paused(trial.body, script, opcodes, threads=trial.threads, patience=patience, pulse=pulse)

    def fails(shown: PausedRun) -> bool:
        nonlocal runs
        runs += 1
        return _fails(trial, shown, kind, interleaving.summary)

    how = _paused(script)
    if not any(map(fails, itertools.islice(_attempts(script, run), _most_runs(trial)))):
        how = ", with noise"
        if not any(map(fails, itertools.islice(_free_runs(script, run), _most_runs(trial)))):
            text = f"real threads did not fail in {runs} runs{_why_not(interleaving)}"
            return Confirmation(Answer.NOT_CONFIRMED, text)
    # What fails now without any interruption says nothing about the interruptions: an attempt may have left something.
    if (
        interleaving.is_interrupted
        and kind is not FindingKind.DEADLOCK
        and fails(run(script.one_after_another(), {}, 1))
        and not trial.overlapped()
    ):
        return Confirmation(Answer.CONTRADICTED, f"{trial.told} with real threads that run one after another, too")
    text = f"confirmed on {interpreter.name()}: {trial.told} with real threads{how}"
    return Confirmation(Answer.CONFIRMED, text)


def _most_runs(trial: Trial) -> int:
    """How many runs there may be because of the time that each of them waits."""
    return max(_LEAST_RUNS, int(min(_MOST_WAITED / max(trial.seconds, 1e-9), _FREE_RUNS)))


def run_freely(trial: Trial, pulse: Callable[[], None] = lambda: None) -> str:
    """Call a body many times with real threads and noise, and return what came of it, as a clause."""
    runs, body = 0, trial.body
    for shown in _free_runs(Script((), {}), lambda script, *_: run_paused(body, script, {}, threads=0, pulse=pulse)):
        runs += 1
        error = shown.error or trial.unusual(shown.failures)
        if error is not None:
            return f"real threads, which nothing paused, failed in run {runs}: {error_text(error)}"
    return f"real threads, which nothing paused, did not fail in {runs} runs"


def _attempts(script: Script, run: Callable[[Script, Mapping[int, int], float], PausedRun]) -> Iterator[PausedRun]:
    """What different opcodes to stop at show, until it makes no sense to try more."""
    left, stuck, until = _MOST_ATTEMPTS, 0, time.process_time() + _MOST_SECONDS
    for patience, most_quiet in _PATIENCE.items():
        quiet = 0
        overrun: dict[int, int] = {}
        for opcodes in _combinations(script):
            if any(overrun.get(turn, _NEVER) <= opcode < _NEVER for turn, opcode in opcodes.items()):
                continue
            shown = run(script, opcodes, patience)
            yield shown
            left -= 1
            stuck += not shown.has_ended
            if not left or stuck == _MOST_STUCK or time.process_time() > until:
                return
            quiet += shown.was_quiet
            if quiet == most_quiet:
                break
            for turn in shown.overrun:
                overrun[turn] = min(opcodes[turn], overrun.get(turn, _NEVER))
        if not quiet:
            return


def _free_runs(script: Script, run: Callable[[Script, Mapping[int, int], float], PausedRun]) -> Iterator[PausedRun]:
    """Runs in which nothing pauses the threads, with more and less noise."""
    until, freely = time.process_time() + _FREE_SECONDS, Script((), {}, script.standstill)
    noise, before = Noise(0, with_library=True), sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        for level in itertools.islice(itertools.cycle(_LEVELS), _FREE_RUNS):
            with noise.at(level):
                shown = run(freely, {}, 1)
            yield shown
            if not shown.has_ended or time.process_time() > until:
                return
    finally:
        sys.setswitchinterval(before)
        noise.close()


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


def _fails(trial: Trial, shown: PausedRun, kind: FindingKind, summary: str) -> bool:
    """Whether a run fails in the way that the explorer tells."""
    if kind in ENDLESS:
        return shown.is_standstill
    error = shown.error or trial.unusual(shown.failures)
    if error is not None:
        return kind in _ERRORS and is_same_failure(error, summary)
    return kind is not FindingKind.FAILURE and shown.has_ended and trial.goes_wrong(shown)


def _why_not(interleaving: Interleaving) -> str:
    switches = (event.switch for event in interleaving.events)
    if interleaving.is_interrupted and not any(switch is not None and switch.is_preemption for switch in switches):
        return ", and cannot be paused in code that is not instrumented"
    return ""


def _paused(script: Script) -> str:
    places = [turn.place for turn in script.turns if turn.place]
    return f", paused at {' and '.join(dict.fromkeys(places))}" if places else ", one after another"
