"""A finding as a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kcache_model.call_program import CallProgram
from kcache_model.finding import Finding, FindingKind
from kcache_model.history import PREFIX_THREAD, Call
from kcache_model.outcomes import Outcome
from kcache_model.render import operation_text, outcome_text
from kcache_model.verdict import Status

from ...targets.replay_request import replay_command
from ..finding_text import EXPLANATIONS, PHASE_TITLES, unconfirmed_text
from ..interleaving import interleaving_text
from ..story import story_sentences
from .from_history import argument, picture_of_history, tables_of_calls
from .picture import Detail, DrawnHistory, Page, Picture, PlainHistory, Table
from .texts import limited_text
from .walking import walk_of

_STOPS = frozenset({FindingKind.HANG, FindingKind.CRASH, FindingKind.DEADLOCK, FindingKind.LIVELOCK})
"""Kinds of findings after which the last call of a sequential program never returned."""

_MOST_ROWS = 200


def page_of_finding(
    finding: Finding,
    target: str,
    *,
    title: str,
    tables: tuple[Table, ...] = (),
    strict_errors: bool = False,
) -> Page:
    """Return a page with the fault, the calls that show it, and the replay command.

    Args:
        finding: the finding.
        target: the name of the implementation, for the command.
        title: the command line of the run.
        tables: limited_text below the tables of the finding.
        strict_errors: how the target was tested.
    """
    picture = picture_of_finding(finding, strict_errors=strict_errors)
    phase = PHASE_TITLES.get(finding.phase, finding.phase)
    paragraphs = [argument(finding.summary, finding.anomaly)]
    if finding.observed is not None and finding.expected is not None and finding.observed != finding.expected:
        paragraphs.append(
            f"Outcome: {outcome_text(finding.observed)}. Expected by the model: {outcome_text(finding.expected)}."
        )
    paragraphs.append(f"Rule: {finding.rule}; kind: {finding.kind.value}" + (f"; found by: {phase}." if phase else "."))
    if finding.unconfirmed:
        paragraphs.append(unconfirmed_text(finding))
    told = finding.interleaving
    paragraphs += [" ".join(story_sentences(told))] if story_sentences(told) else []
    story = "" if told is None or not (told.threads or told.failures) else interleaving_text(told)
    texts = (("The interleaving", story), ("Details", finding.detail))
    return Page(
        title,
        finding.status,
        EXPLANATIONS.get(finding.kind, "Something is wrong."),
        tuple(paragraphs),
        picture,
        (*(() if picture is None else tables_of_calls(picture)), *_program_tables(finding, picture), *tables),
        tuple(Detail(heading, text) for heading, text in texts if text),
        replay_command(finding, target) or "",
        "" if finding.anomaly is None else finding.anomaly.value,
        walk_of(told),
    )


def picture_of_finding(finding: Finding, *, strict_errors: bool = False) -> Picture | None:
    """Return the calls of a finding as a picture; ``None`` if the finding has no calls."""
    program = finding.program
    if finding.kind in _STOPS and not finding.calls:
        finding = replace(finding, calls=tuple(_calls_as_they_ran(finding)))
        if finding.calls:
            return _furthest(finding)
    if getattr(program, "drawn", lambda _: None)(()) is None:
        return _furthest(finding) if finding.calls else None
    if program.is_sequential and not finding.calls:
        return _sequential(finding, program) if len(program) else None
    if not finding.calls:
        return None
    history = _with_earlier_calls(finding, program)
    added = len(history.calls) - len(finding.calls)
    if finding.core:
        core = tuple(added + position for position in finding.core)
        note = "The other calls are drawn only if they may matter."
        return picture_of_history(history, Status.VIOLATION, core=core, note=note, strict_errors=strict_errors)
    return picture_of_history(history, Status.OK, strict_errors=strict_errors)


def _calls_as_they_ran(finding: Finding) -> Iterator[Call]:
    """Yield the calls of a program that stands still, from its interleaving; times count the steps."""
    told, threads = finding.interleaving, getattr(finding.program, "threads", ())
    made: Counter[int] = Counter()
    for call in () if told is None else told.calls:
        own = threads[call.thread] if call.thread < len(threads) else ()
        if made[call.thread] < len(own):
            outcome = None if call.outcome is None else Outcome(value=call.outcome)
            returned = None if outcome is None else 2 * max(call.first, call.last) + 1
            yield Call(call.thread, own[made[call.thread]], 2 * call.first, returned, outcome)
        made[call.thread] += 1


def _furthest(finding: Finding) -> Picture:
    """Return the calls with the closest order, and the call that it cannot explain, or that never returned."""
    wrong = finding.core[0] if finding.core else None
    if wrong is None and finding.kind in _STOPS:
        wrong = next((at for at, call in enumerate(finding.calls) if call.returned is None), None)
    expected = finding.expected if finding.core else None
    return Picture(PlainHistory(finding.calls), finding.order, (), wrong, "", expected)


def _sequential(finding: Finding, program: CallProgram[Any]) -> Picture:
    """Return a picture with one lane: the model's results up to the wrong step, and the observation there."""
    operations = list(program.operations())
    stopped = finding.step is None and finding.kind in _STOPS
    step = len(operations) - 1 if stopped else finding.step
    calls = []
    expected: Outcome | None = None
    for number, (operation, outcome) in enumerate(_followed(program, operations)):
        if step is not None and number > step:
            break
        observed: Outcome | None = outcome
        if number == step:
            expected = finding.expected or outcome
            observed = None if stopped else finding.observed or outcome
        calls.append(Call(0, operation, 2 * number, None if observed is None else 2 * number + 1, observed))
    left_out = len(operations) - len(calls)
    note = f"{left_out} later steps are not drawn." if left_out else ""
    is_wrong_itself = step is not None and (stopped or calls[step].outcome != expected)
    order = tuple(range(step if is_wrong_itself and step is not None else len(calls)))
    return Picture(program.drawn(tuple(calls)), order, (), step, note, expected)


def _with_earlier_calls(finding: Finding, program: CallProgram[Any]) -> DrawnHistory:
    """Return the calls, with calls before the threads from the model: a finding without a core leaves these out."""
    calls = finding.calls
    if not any(call.thread == PREFIX_THREAD for call in calls):
        begin = min(call.invoked for call in calls) - 2 * len(program.prefix)
        before = [
            Call(PREFIX_THREAD, operation, begin + 2 * number, begin + 2 * number + 1, outcome)
            for number, (operation, outcome) in enumerate(_followed(program, list(program.prefix)))
        ]
        calls = (*before, *calls)
    history: DrawnHistory = program.drawn(calls)
    return history


def _followed(program: CallProgram[Any], operations: list[Any]) -> Iterator[tuple[Any, Outcome]]:
    """Yield each operation with its result by the model, one after another."""
    history: DrawnHistory = program.drawn(())
    model, state = history.model(), history.initial()
    for operation in operations:
        state, outcome = model.respond(state, operation, None)
        yield operation, outcome


def _program_tables(finding: Finding, picture: Picture | None) -> tuple[Table, ...]:
    """Return a table of the calls of each thread, if there is no picture."""
    program = finding.program
    if program is None or picture is not None or not len(program):
        return ()
    parts = [("before", program.prefix), *((f"thread {n}", thread) for n, thread in enumerate(program.threads, 1))]
    rows = tuple((name, limited_text(operation_text(operation))) for name, part in parts for operation in part)
    return (Table("The program", ("thread", "call"), rows[:_MOST_ROWS]),)
