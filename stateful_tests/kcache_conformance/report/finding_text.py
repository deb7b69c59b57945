"""A finding as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from kcache_model.call_program import CallProgram
from kcache_model.finding import Finding, FindingKind
from kcache_model.render import CLOSEST, operation_text, outcome_text, printable

from ..targets.replay_request import ReplayRequest, long_command, replay_command
from .interleaving import interleaving_text
from .story import story_sentences
from .timeline import timeline

_DETAIL_LINES = 40

EXPLANATIONS = {
    FindingKind.NONLINEARIZABLE: "These results are impossible if the calls run one at a time, in any order.",
    FindingKind.DIVERGENCE: "A single thread already gets a wrong answer.",
    FindingKind.INVARIANT: "Parts of the state contradict each other.",
    FindingKind.EXCEPTION: "A call raised an exception. It raises none if the calls run one at a time.",
    FindingKind.HANG: "A call did not return.",
    FindingKind.NONDETERMINISM: "The same calls, one at a time, return different results from run to run.",
    FindingKind.DEADLOCK: "The threads wait for each other, or for something that no thread will do.",
    FindingKind.LIVELOCK: "The threads run forever without making progress.",
    FindingKind.CRASH: "The process of the implementation ended.",
    FindingKind.FAILURE: "The test fails.",
    FindingKind.DATA_RACE: "Nothing orders these two accesses: in another run, the second one may come first.",
}
"""Kind of a finding -> its text in reports."""


_ADVICE = "Advice: client-go does not promise this; kcache's reference does, and --contract strict requires it."
_HARMLESS = "Advice: a data race may be harmless; with --contract strict it is a violation."

PHASE_TITLES = {
    "saved": "saved failures",
    "smoke": "smoke test",
    "recorded": "recorded client-go behaviour",
    "litmus": "litmus scenarios",
    "stateful": "state machine",
    "explorer": "explorer",
    "stress": "stress with real threads",
    "fuzz": "fuzzer",
    "replay": "replay",
    "judge": "judge",
}
"""Name of a phase -> its text in reports."""


def print_finding(
    console: Console,
    finding: Finding,
    target: str,
    *,
    is_whole: bool = False,
    command_of: Callable[[ReplayRequest], str] = long_command,
) -> None:
    """Print a finding for a reader: the fault, the smallest example, and the replay command.

    Args:
        console: the console to print on.
        finding: the finding.
        target: the name of the target.
        is_whole: print all steps, all lines of details, and all calls.
        command_of: returns the command of a replay.
    """
    with console.capture() as capture:
        console.print(Group(*_parts(finding, console.width, is_whole=is_whole)), crop=False)
    console.out("\n".join(line.rstrip() for line in capture.get().splitlines()), highlight=False)
    command = replay_command(finding, target, command_of=command_of)
    if command is not None:
        repeats = finding.program is None or finding.program.is_sequential or finding.schedule
        again = "Run it again:" if repeats else "Run the whole round again, many times:"
        console.print()
        console.print(Text(f"  {again}", style="bold"))
        # One line, however long, so that it can be copied.
        console.print(Text(f"    {command}"), soft_wrap=True)


def unconfirmed_text(finding: Finding) -> str:
    """Return the sentence about a finding that is not confirmed."""
    return printable(f"Not confirmed: {finding.unconfirmed}.")


def heading(finding: Finding) -> str:
    """Return ``NONLINEARIZABLE half-applied-write``: the kind, or ADVICE; and the rule if it adds information."""
    kind = "ADVICE" if finding.is_advice else finding.kind.value.upper()
    return kind if finding.rule == finding.kind.value and not finding.is_advice else f"{kind} {finding.rule}"


def _parts(finding: Finding, width: int, *, is_whole: bool) -> Iterator[RenderableType]:
    phase = PHASE_TITLES.get(finding.phase, finding.phase)
    yield Text(f"{heading(finding)} (found by: {phase})", style="bold yellow" if finding.is_advice else "bold red")
    yield Text(EXPLANATIONS.get(finding.kind, ""))
    if finding.is_advice:
        usual = _HARMLESS if finding.kind is FindingKind.DATA_RACE else _ADVICE
        yield Text(printable(f"Advice: {finding.advice}.") if finding.advice else usual)
    if finding.unconfirmed:
        yield Text(unconfirmed_text(finding))
    yield Text()
    yield from _summary(finding)
    if finding.interleaving is not None and finding.interleaving.threads:
        yield _title("The interleaving:")
        text = interleaving_text(finding.interleaving, width - 4, is_whole=is_whole)
        yield _indented(Text(printable(text.rstrip("\n"))))
    yield from _program(finding, is_whole=is_whole)
    if finding.detail:
        yield _title("Details:")
        lines = printable(finding.detail).splitlines()
        yield _indented(Text("\n".join(lines if is_whole else lines[:_DETAIL_LINES])))


def _summary(finding: Finding) -> Iterator[RenderableType]:
    """Yield the fault and its cause, for a reader who reads no further."""
    interleaving, story = finding.interleaving, story_sentences(finding.interleaving)
    # The story of a standstill has the summary and the lock holders.
    is_standstill = bool(story and interleaving is not None and interleaving.waiting)
    yield _indented(Text(" ".join(story) if is_standstill else printable(finding.summary)))
    if finding.location and finding.kind is not FindingKind.DATA_RACE:
        yield _whole(f"at {printable(finding.location)}")
    elif interleaving is not None and interleaving.interrupted_at:
        yield _whole(f"interrupted at {printable(interleaving.interrupted_at)}")
    if story and not is_standstill:
        yield _title("In short:")
        yield _indented(Text(" ".join(story)))


def _program(finding: Finding, *, is_whole: bool) -> Iterator[RenderableType]:
    """Yield the program of the threads: the calls, and code to run."""
    program = finding.program
    is_sequential = program is not None and program.is_sequential
    if finding.calls and (is_whole or not (finding.script or is_sequential)):
        marked = "; those marked * cannot all be right" if finding.core else ""
        yield _title(f"Calls, as they overlapped in time{marked}:")
        yield _indented(timeline(finding.calls, finding.core))
    if finding.script or is_sequential:
        yield _title("Smallest example:")
        lines = finding.script or ("" if program is None else "\n".join(_sequential_lines(finding, program)))
        yield _whole(printable(lines)) if finding.script else _indented(Text(lines))


def short_summary(finding: Finding) -> str:
    """Return the summary for a title, without alternatives."""
    return printable(finding.summary).partition(CLOSEST)[0].partition(";")[0].splitlines()[0].strip().removesuffix(".")


def _sequential_lines(finding: Finding, program: CallProgram[Any]) -> Iterator[str]:
    yield program.creation
    for position, operation in enumerate(program.operations()):
        line = f"{position + 1}. {operation_text(operation)}"
        if position == finding.step and finding.observed is not None and finding.observed != finding.expected:
            line += f" -> {outcome_text(finding.observed)}   expected: {outcome_text(finding.expected)}"
        yield line


def _title(text: str) -> RenderableType:
    return Padding(Text(text, style="bold"), (1, 0, 0, 2), expand=False)


def _whole(text: str) -> Text:
    """Return lines that are never wrapped, so that they can be copied or opened."""
    return Text(textwrap.indent(text, "    "), no_wrap=True, overflow="ignore")


def _indented(content: RenderableType) -> RenderableType:
    return Padding(content, (0, 0, 0, 4), expand=False)
