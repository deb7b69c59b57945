"""The summary of ``kcache run pytest``: each finding when its test ends, and a table at the end.

A finding is printed at once, because a run that is killed prints no table. With pytest-xdist, the reports carry the
results from the workers to the controller.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import pytest

PROPERTY: Final = "kcache"
"""The user property of a report that holds the result of a test."""

_LATER: Final = "kcache later"
"""The user property of a report that is created after all tests have run, and its ``when`` if the test passes."""

FOUND: Final = "fails in some order"
NOT_REPEATED: Final = "failed once, not shown again"
NOT_CONFIRMED: Final = "fails in some order, not confirmed"
AS_TIME_PASSES: Final = "fails only when virtual time is advanced"
EXHAUSTED: Final = "exhausted"
SAMPLED: Final = "sampled"
NO_PROOF: Final = "no proof"
AS_IT_IS: Final = "ran as it is"

_FAILED: Final = (FOUND, NOT_CONFIRMED, NOT_REPEATED, AS_TIME_PASSES)
"""Outcomes that are printed in their own line when the test ends, and again above the table."""
_EXPLORED: Final = (EXHAUSTED, SAMPLED, NO_PROOF)
_MOST_REASONS: Final = 20
"""The maximum number of reasons in the table, to keep it short; ``-v`` lists every test."""

_PLACE: Final = re.compile(r"\S+:\d+(?: in \S+)?")
"""``FILE:LINE in FUNCTION``: replaced by ``...``, so that tests with equal reasons form one group."""

_ADVICE: Final = (
    ("under the explorer it fails in every order", "is the time, a process id or an address part of the result?"),
    ("sockets or pipes of its event loop", "replace the connection in the test"),
    ("it runs in a loop of", "kcache schedules loops of asyncio: run the test in one"),
    ("starts a process", "kcache does not schedule processes: test the threads without them"),
    ("kcache itself failed", "please report it"),
    ("too long", "run fewer calls or threads in the test"),
    ("did not return", "it may wait for something outside: replace that in the test"),
    ("is not instrumented", "name its package with --instrument"),
    ("is not known", "name its package with --instrument, or replace this line in the test"),
    ("waits of 50 ms", "--timeouts any-time also tries other ends"),
    ("time out at", "wait for an event without a timeout in the test, where that is possible"),
)
"""Part of a reason -> advice to the user."""


@dataclass(frozen=True)
class Outcome:
    """The result of one test that starts threads, processes or tasks.

    Attributes:
        kind: one of the constants of this module.
        text: the failure, the obstacle to a proof, what a proof takes for granted, or the reason why the test was not
            explored; one line.
        executions: the number of executions.
        command: the command that repeats a finding; empty if there is none.
        has_loop: whether the test has tasks or timers of an event loop.
    """

    kind: str
    text: str = ""
    executions: int = 0
    command: str = ""
    has_loop: bool = False


def add_outcome(item: pytest.Item, outcome: Outcome) -> None:
    """Add a result to the report of a test."""
    item.user_properties.append((PROPERTY, _written(outcome)))


def _written(outcome: Outcome) -> str:
    return json.dumps({**asdict(outcome), "text": " ".join(outcome.text.split())})


def has_outcome(item: pytest.Item) -> bool:
    """Whether a test has a result."""
    return any(name == PROPERTY for name, _ in item.user_properties)


def later_report(item: pytest.Item, outcome: Outcome, failure: str) -> pytest.TestReport:
    """Return the report of a test whose exploration continued after all tests had run.

    Args:
        item: the test.
        outcome: its new result.
        failure: the text of the failure; empty if the test passes: then the report changes only the table.
    """
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords={},
        outcome="failed" if failure else "passed",
        longrepr=failure or None,
        when="call" if failure else _LATER,  # type: ignore[arg-type]
        user_properties=[(PROPERTY, _written(outcome)), (_LATER, "")],
    )


class Summary:
    """A pytest plugin that prints each finding when its test ends, and the table at the end of the session.

    Args:
        config: pytest's configuration, of the process that prints.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._tests: set[str] = set()
        self._outcomes: dict[str, Outcome] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the result of a test, and print it at once if it is a finding."""
        if report.when == "call":
            self._tests.add(report.nodeid)
        is_later = any(name == _LATER for name, _ in report.user_properties)
        for name, value in report.user_properties:
            if name == PROPERTY and (is_later or report.nodeid not in self._outcomes):
                outcome = self._outcomes[report.nodeid] = Outcome(**json.loads(str(value)))
                terminal = self._config.pluginmanager.get_plugin("terminalreporter")
                if outcome.kind in _FAILED and terminal is not None:
                    terminal.ensure_newline()
                    if self._config.get_verbosity() < 0:  # pytest -q prints letters only, and counts no line as begun
                        terminal.write("\n")
                    command = f" ({outcome.command})" if outcome.command else ""
                    terminal.write_line(f"{_line(report.nodeid, outcome)}{command}", flush=True)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Hide the later report of a test that passes, so that pytest does not count the test twice."""
        return ("", "", "") if str(report.when) == _LATER else None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the findings and the table; with ``-v`` a line for each test that starts threads or tasks."""
        has_loops = any(outcome.has_loop for outcome in self._outcomes.values())
        terminalreporter.section(f"kcache: tests that start threads{' or tasks' if has_loops else ''}")
        is_verbose = self._config.get_verbosity() > 0
        for nodeid, outcome in sorted(self._outcomes.items()):
            if is_verbose or outcome.kind in _FAILED:
                terminalreporter.write_line(_line(nodeid, outcome))
        for line in table_lines(list(self._outcomes.values()), len(self._tests)):
            terminalreporter.write_line(line)
        if any(outcome.kind == SAMPLED for outcome in self._outcomes.values()):
            budget = self._config.option.kcache_test_budget
            terminalreporter.write_line(
                f"budget spent after {budget:g} s: to try more orders, increase --budget-per-test"
            )


def table_lines(outcomes: Sequence[Outcome], tests: int) -> Iterator[str]:
    """Yield the lines of the table: the numbers of tests with threads, of explored tests, and the reasons for the rest.

    Args:
        outcomes: of the tests that start threads, processes or tasks.
        tests: the number of all tests that were run.
    """
    kinds = Counter(outcome.kind for outcome in outcomes)
    on_loops = sum(outcome.has_loop for outcome in outcomes)
    others = len(outcomes) - on_loops
    with_threads = [f"{others} with threads or processes"] if others or not on_loops else []
    with_tasks = [f"{on_loops} with tasks in an event loop"] if on_loops else []
    yield ", ".join((_number(tests, "test"), *with_threads, *with_tasks))
    for kind in _FAILED:
        if kinds[kind]:
            yield f"  {kind}: {kinds[kind]}"
    explored = [outcome for outcome in outcomes if outcome.kind in _EXPLORED]
    if explored:
        parts = ", ".join(f"{kinds[kind]} {kind}" for kind in _EXPLORED if kinds[kind])
        executions = sum(outcome.executions for outcome in explored)
        yield f"  explored: {len(explored)} ({parts}; {_number(executions, 'execution')})"
        yield from _reasons(outcome.text for outcome in explored if outcome.text)
    if kinds[AS_IT_IS]:
        yield f"  not explored: {kinds[AS_IT_IS]}"
        yield from _reasons(outcome.text for outcome in outcomes if outcome.kind == AS_IT_IS)


def _line(nodeid: str, outcome: Outcome) -> str:
    kind, text, executions = outcome.kind, outcome.text, _number(outcome.executions, "execution")
    if kind in _EXPLORED:
        exhausted = f"{kind}, if {text}" if text else kind
        detail = {SAMPLED: "budget spent", NO_PROOF: f"no proof: {text}"}.get(kind, exhausted)
        return f"explored: {nodeid}: {executions}, {detail}"
    return f"{kind}: {nodeid}: {text}"


def _reasons(texts: Iterable[str]) -> Iterator[str]:
    """Yield a line for each reason, most frequent first: the number of tests, the reason, and advice to the user."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for text in texts:
        groups[_PLACE.sub("...", text).partition(": ")[0]].append(text)
    ordered = sorted(groups.values(), key=lambda group: (-len(group), group[0]))
    for group in ordered[:_MOST_REASONS]:
        others = "" if len(set(group)) == 1 else " ... (-v lists each)"
        advice = next((f"; {advice}" for part, advice in _ADVICE if part in group[0]), "")
        yield f"    {len(group):4} {group[0]}{others}{advice}"
    if len(ordered) > _MOST_REASONS:
        yield f"         {len(ordered) - _MOST_REASONS} more reasons: -v lists them"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
