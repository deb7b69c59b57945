"""The pytest plugin of ``kcache run pytest``: each test that starts threads runs once as it is, then in every order.

The harness is imported when the first test has started
a thread. With pytest-xdist, workers write into their reports what the summary of the controller shows.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pytest

from .pytest_threads import Started

if TYPE_CHECKING:
    from kcache_conformance.events import SuiteResult
    from kcache_model.finding import Finding

PROPERTY: Final = "kcache"
"""The user property of a report that holds the line of the summary."""

_FOUND: Final = "fails in some order"
_EXPLORED: Final = "explored"
_AS_IT_IS: Final = "ran as it is"
_SPENT: Final = "budget spent"
_SHRINK_SECONDS: Final = 10.0
"""For making a finding small: the search may have spent its budget, and a long schedule explains nothing."""
_MOST_NAMES: Final = 3
_WORK_SECONDS: Final = 0.01
"""Whoever works less than this meanwhile stands still."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options that ``kcache run pytest`` gives to the child, and pytest-xdist to its workers."""
    group = parser.getgroup("kcache", "interleavings of tests that start threads")
    group.addoption("--kcache-test-budget", type=float, default=2.0, help="seconds for the interleavings of a test")
    group.addoption("--kcache-test-patience", type=float, default=30.0, help="seconds of standstill that end a test")
    group.addoption("--kcache-test-seed", type=int, default=0, help="of everything random")
    group.addoption("--kcache-test-instrument", action="append", default=[], help="instrument this package too")


def pytest_configure(config: pytest.Config) -> None:
    """Begins to listen to what tests start."""
    if not config.pluginmanager.is_blocked("kcache-explorer"):  # as it is in the children that explore
        config.pluginmanager.register(_Explorer(config), "kcache-explorer")


class _StoodStillError(BaseException):
    """Ends a test whose threads wait for each other; none that tests catch."""


@contextlib.contextmanager
def _ended_at_standstill(seconds: float, started: Started) -> Iterator[None]:
    """While this is entered, the main thread is interrupted once the process has done nothing for so long.

    Not where no threads were started, or a process was: the test may wait for something outside.
    """
    number = getattr(signal, "SIGALRM", None)
    is_main = threading.current_thread() is threading.main_thread()
    if number is None or not is_main or signal.getsignal(number) is not signal.SIG_DFL:
        yield
        return
    worked = time.process_time()

    def look(*_: object) -> None:
        nonlocal worked
        before, worked = worked, time.process_time()
        if started.threads and not started.starts_processes and worked - before < _WORK_SECONDS:
            raise _StoodStillError

    signal.signal(number, look)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(number, signal.SIG_DFL)


@dataclass(eq=False)
class _Explorer:
    """Explores the tests that start threads, when they have passed, or do not come back."""

    config: pytest.Config
    started: Started = field(default_factory=Started)
    standstill: str = ""
    has_left_threads: bool = False
    has_passed: bool = False
    beside: list[threading.Thread] = field(default_factory=list)
    exit_status: int = 0

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_setup(self) -> Generator[None]:
        """Counts what fixtures start."""
        self.started.forget()
        self.beside = []
        with self.started.listening():
            yield

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        """Counts what a fixture starts."""
        with self.started.listening(fixturedef):
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        """Runs a test as it is, then in every order of its threads."""
        started, seconds = self.started, self.config.option.kcache_test_patience
        self.standstill, self.beside = "", started.others()
        started.count_wider(item)
        with started.listening(), _ended_at_standstill(seconds, started):
            try:
                yield
            except _StoodStillError:
                self.has_left_threads = True
                self.standstill = (
                    f"it stood still for {seconds:g} s; if it does but wait, give kcache run more --patience"
                )
            except BaseException as error:
                if started.threads or started.starts_processes:
                    _note(item, _AS_IT_IS, "it is skipped" if isinstance(error, pytest.skip.Exception) else "it fails")
                raise
        self._look_into(item)
        if self.standstill:
            pytest.fail(self.standstill, pytrace=False)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None]:
        """Counts what a test starts when it ends, and explores it if it has started nothing before."""
        with self.started.listening():
            yield
        if self.has_passed and not _is_noted(item):
            self._look_into(item)
        names = sorted(thread.name for thread in self.beside if thread.is_alive())
        if names and not _is_noted(item):
            _note(
                item, _AS_IT_IS, f"the threads that run beside it are none of its own: {', '.join(names[:_MOST_NAMES])}"
            )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """Keeps whether the last phase of a test passed."""
        self.has_passed = call.excinfo is None
        return (yield)

    def _look_into(self, item: pytest.Item) -> None:
        """Explore a test that has started threads, if it can be explored."""
        started = self.started
        function = getattr(item, "function", None)
        is_threaded = started.threads or started.starts_processes
        if not is_threaded or function is None or hasattr(function, "kcache_interleaved"):
            return
        reason = _not_explored(item, started)
        if reason:
            _note(item, _AS_IT_IS, reason)
            return
        self._explore(item)

    def _explore(self, item: pytest.Item) -> None:
        from kcache_conformance.isolation import HarnessError
        from kcache_conformance.suite import run_suite
        from kcache_conformance.suite_options import SuiteOptions
        from kcache_model.errors import TargetError
        from kcache_stress.interleaved.pytest_items import ARGUMENTS, arguments_of, positions_of

        os.environ[ARGUMENTS] = arguments_of(self.config)
        spec = _spec(item)
        asked = self.config.option
        options = SuiteOptions(
            kind="test",
            seed=asked.kcache_test_seed,
            budget_seconds=asked.kcache_test_budget,
            shrink_seconds=_SHRINK_SECONDS,
            instrument=tuple(asked.kcache_test_instrument),
            most_findings=1,
            parameters=positions_of(item),
        )
        try:
            result = run_suite(spec, options)
        except TargetError as error:
            _note(item, _AS_IT_IS, str(error))
            return
        except HarnessError as error:
            _note(item, _AS_IT_IS, f"kcache itself failed: {str(error).strip().splitlines()[-1]}")
            return
        self._tell(item, spec, result)

    def _tell(self, item: pytest.Item, spec: str, result: SuiteResult) -> None:
        finding = next(iter(result.findings), None)
        counts = result.phases[-1].counts if result.phases else {}
        executions = f"{counts.get('executions', 0)} executions"
        if finding is not None:
            is_explained = bool(self.standstill) and finding.interleaving is not None  # as it is, it fails, too
            why = "" if is_explained else _no_matter_of_order(finding)
            _note(item, _AS_IT_IS if why else _FOUND, why or finding.summary)
            if not why:
                _fail(finding, spec)
        elif result.phases and result.phases[-1].refused:
            _note(item, _AS_IT_IS, result.phases[-1].refused)
        elif counts.get("exhausted"):
            _note(item, _EXPLORED, f"{executions}, exhausted")
        else:
            no_proof = next((phase.no_proof for phase in result.phases if phase.no_proof), "")
            _note(item, _EXPLORED, f"{executions}, {f'no proof: {no_proof}' if no_proof else _SPENT}")

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Keeps how the session ended."""
        self.exit_status = int(exitstatus)

    def pytest_unconfigure(self) -> None:
        """Ends the process, which else would wait for ever for the threads of a test that stood still."""
        if self.has_left_threads and not hasattr(self.config, "workerinput"):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self.exit_status)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """One line for each test that started threads or processes."""
        if hasattr(self.config, "workerinput"):
            return
        lines, tests = dict[str, str](), set[str]()
        for reports in terminalreporter.stats.values():
            for report in reports:
                found = getattr(report, "user_properties", ())  # of the teardown, too: it may start threads
                lines.update((report.nodeid, text) for name, text in found if name == PROPERTY)
                if getattr(report, "when", "") == "call":
                    tests.add(report.nodeid)
        terminalreporter.section("kcache: tests that start threads")
        for nodeid, text in sorted(lines.items()):
            what, _, why = text.partition(": ")
            terminalreporter.write_line(f"{what}: {nodeid}: {why}")
        kinds = (_FOUND, _EXPLORED, _AS_IT_IS)
        told = [f"{sum(text.startswith(f'{kind}:') for text in lines.values())} {kind}" for kind in kinds]
        terminalreporter.write_line(f"{', '.join(told)}; {len(tests) - len(lines)} start none")
        if any(text.endswith(_SPENT) for text in lines.values()):
            spent = self.config.option.kcache_test_budget
            terminalreporter.write_line(f"{_SPENT} after {spent:g} s: --budget-per-test tries more orders")


def _not_explored(item: pytest.Item, started: Started) -> str:
    """Why a test is not explored, as far as that is known before it is tried; empty if it may be."""
    if inspect.iscoroutinefunction(item.function):  # type: ignore[attr-defined]
        return "it is a coroutine: event loops cannot be scheduled"
    return started.obstacle


def _spec(item: Any) -> str:
    """The name by which a process can load a test."""
    from kcache_stress.import_paths import path_from_here
    from kcache_stress.loading import importable_spec

    name = item.originalname if item.cls is None else f"{item.cls.__qualname__}.{item.originalname}"
    found = importable_spec(item.function if item.cls is None else item.cls)
    location = found.rpartition(":")[0] if found is not None else path_from_here(item.path) or item.path
    return f"{location}:{name}"


def _no_matter_of_order(finding: Finding) -> str:
    """Why a finding says nothing about the order of threads; empty if it does."""
    from kcache_model.finding import FindingKind
    from kcache_model.places import file_name
    from kcache_stress.interleaved.body_laboratory import FAILS_ALWAYS

    if finding.kind in (FindingKind.HANG, FindingKind.CRASH, FindingKind.NONDETERMINISM):
        places = re.findall(r'File "(.+)", line ([0-9]+), in (.+)', finding.detail)
        where = "".join(f" ({file_name(file)}:{line} in {function})" for file, line, function in places[-1:])
        return f"{finding.summary}{where}"
    if finding.kind is FindingKind.LIVELOCK:  # a test may just be long
        return finding.summary
    if finding.interleaving is None:
        return f"it does not show again with the same schedule: {finding.summary}"
    if finding.unconfirmed:
        return f"{finding.summary}; not confirmed: {finding.unconfirmed}"
    return f"under the explorer it fails in every order: {finding.summary}" if FAILS_ALWAYS in finding.detail else ""


def _note(item: pytest.Item, what: str, why: str) -> None:
    """What the summary will say of a test; the report carries it there, from another process perhaps."""
    item.user_properties.append((PROPERTY, f"{what}: {' '.join(why.split())}"))


def _is_noted(item: pytest.Item) -> bool:
    return any(name == PROPERTY for name, _ in item.user_properties)


def _fail(finding: Finding, spec: str) -> None:
    from kcache_conformance.kept_tokens import kept_command
    from kcache_conformance.report.capturing import captured
    from kcache_conformance.report.finding_text import print_finding

    pytest.fail(
        captured(lambda console: print_finding(console, finding, spec, command_of=kept_command)).strip("\n"),
        pytrace=False,
    )
