"""The pytest plugin of ``kcache run pytest``: tests with threads or tasks run normally, then in many interleavings.

When a test has run normally, the explorer searches its interleavings for ``--kcache-test-first`` seconds. If the budget
of the test is larger, the search continues after all tests have run: an interrupted run has then explored as many tests
as possible.

The harness is imported when the first test has started a thread. With pytest-xdist, workers store the results in their
reports, and the controller prints the summary.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import pytest

from .pytest_summary import (
    AS_IT_IS,
    AS_TIME_PASSES,
    EXHAUSTED,
    FOUND,
    NO_PROOF,
    NOT_CONFIRMED,
    NOT_REPEATED,
    SAMPLED,
    Outcome,
    Summary,
    add_outcome,
    has_outcome,
    later_report,
)
from .pytest_threads import Started

if TYPE_CHECKING:
    from pathlib import Path

    from kcache_conformance.phases.suite_options import SuiteOptions
    from kcache_conformance.results.events import SuiteResult
    from kcache_model.finding import Finding

_SHRINK_SECONDS: Final = 5.0
"""Extra time to minimise a finding: the search may have used up its budget, and long schedules are hard to read."""
_NOT_ONE: Final = "too long: no execution finished within the budget"
_MOST_NAMES: Final = 3
_WORK_SECONDS: Final = 0.01
"""CPU time per ``--patience`` period; if a process uses less, it makes no progress."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that ``kcache run pytest`` passes to its child, and pytest-xdist to its workers."""
    group = parser.getgroup("kcache", "interleavings of tests that start threads")
    group.addoption(
        "--kcache-test-budget", type=float, default=2.0, help="seconds for exploring the interleavings of a test"
    )
    # Two seconds are enough for a few hundred executions of a small test, and for one or two of a long test.
    group.addoption("--kcache-test-first", type=float, default=2.0, help="seconds for the first orders of a test")
    group.addoption(
        "--kcache-test-patience",
        type=float,
        default=30.0,
        help="seconds without progress after which a test is stopped",
    )
    group.addoption("--kcache-test-seed", type=int, default=0, help="seed of all random choices")
    group.addoption("--kcache-test-timeouts", default="patient", help="when waits with a timeout may end")
    group.addoption("--kcache-test-cancel", type=int, default=0, help="cancellations of tasks in one execution")
    group.addoption("--kcache-test-cancelled", default="usual", help="which tasks are cancelled")
    group.addoption("--kcache-test-instrument", action="append", default=[], help="instrument this package too")


def pytest_configure(config: pytest.Config) -> None:
    """Register the explorer and the summary, unless this process is a child that explores a test."""
    if not config.pluginmanager.is_blocked("kcache-explorer"):  # children that explore block it
        config.pluginmanager.register(_Explorer(config), "kcache-explorer")
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(Summary(config), "kcache-summary")
            _interrupt_when_terminated()


def _interrupt_when_terminated() -> None:
    """Let SIGTERM end the session with its summary, as Ctrl-C does; processes that a test forks die as usual."""
    own = os.getpid()

    def interrupt(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        if os.getpid() == own:
            raise KeyboardInterrupt
        os.kill(os.getpid(), number)

    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, interrupt)


class _StoodStillError(BaseException):
    """Ends a test that makes no progress; a BaseException, so that ``except Exception`` in a test does not catch it."""


@contextlib.contextmanager
def _ended_at_standstill(seconds: float, started: Started) -> Iterator[None]:
    """Interrupt the main thread if the process does nothing for this many seconds while the context is entered.

    If the test has started no thread, or has started a process, it is not interrupted: it may wait for something
    outside.
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


@dataclass(frozen=True)
class _Search:
    """The search for an interleaving in which a test fails.

    Attributes:
        item: the test.
        spec: the name by which the exploring process loads the test.
        options: options of the search.
        standstill: the reason why the test was stopped when it ran normally; empty if it finished.
        has_loop: whether the test has tasks of an event loop.
    """

    item: pytest.Item
    spec: str
    options: SuiteOptions
    standstill: str
    has_loop: bool


@dataclass(eq=False)
class _Explorer:
    """A pytest plugin that explores each test with threads or tasks, after the test has passed or was stopped."""

    config: pytest.Config
    started: Started = field(default_factory=Started)
    import_paths: dict[str, list[str]] = field(default_factory=dict)
    standstill: str = ""
    has_left_threads: bool = False
    has_passed: bool = False
    beside: list[threading.Thread] = field(default_factory=list)
    exit_status: int = 0
    unfinished: list[_Search] = field(default_factory=list)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        """Count the threads, processes and tasks that fixtures start."""
        self.started.begin(item)
        self.beside = []
        with self.started.listening():
            yield

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        """Count the threads and processes that a fixture starts, and attribute them to the fixture."""
        with self.started.listening(fixturedef):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        """Record the import path with which a test module was imported: other modules may change it later."""
        report = yield
        if isinstance(collector, pytest.Module):
            self.import_paths[collector.nodeid] = list(sys.path)
        return report

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        """Run a test normally, then explore its interleavings."""
        started, seconds = self.started, self.config.option.kcache_test_patience
        self.standstill, self.beside = "", started.others()
        started.count_wider(item)
        with started.listening(), started.hearing_failures(), _ended_at_standstill(seconds, started):
            try:
                yield
            except _StoodStillError:
                self.has_left_threads = True
                self.standstill = (
                    f"it made no progress for {seconds:g} s; if it only waits, increase --patience of kcache run"
                )
            except BaseException as error:
                if started.is_concurrent:
                    reason = "it is skipped" if isinstance(error, pytest.skip.Exception) else "it fails"
                    self._add(item, Outcome(AS_IT_IS, reason))
                raise
            started.loops.finish()
        self._look_into(item)
        if self.standstill:
            pytest.fail(self.standstill, pytrace=False)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None]:
        """Count what a test starts in its teardown; explore the test if it has not been explored yet."""
        with self.started.listening():
            yield
        if self.has_passed and not has_outcome(item):
            self._look_into(item)
        names = sorted(thread.name for thread in self.beside if thread.is_alive())
        if names and not has_outcome(item):
            others = ", ".join(names[:_MOST_NAMES])
            add_outcome(item, Outcome(AS_IT_IS, f"threads that the test did not start run beside it: {others}"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """Record whether the last phase of a test passed."""
        self.has_passed = call.excinfo is None
        return (yield)

    def _look_into(self, item: pytest.Item) -> None:
        """Explore a test that has started threads or tasks, if it can be explored."""
        started = self.started
        function = getattr(item, "function", None)
        if not started.is_concurrent or function is None or hasattr(function, "kcache_interleaved"):
            return
        reason = started.obstacle or started.loops.obstacle
        if reason:
            self._add(item, Outcome(AS_IT_IS, reason))
            return
        self._explore(item)

    def _add(self, item: pytest.Item, outcome: Outcome) -> None:
        add_outcome(item, replace(outcome, has_loop=self.started.has_tasks))

    def _explore(self, item: pytest.Item) -> None:
        search = self._search(item)
        seconds, first = search.options.budget_seconds, self.config.option.kcache_test_first
        outcome, report = _searched(search, min(seconds, first))
        self._add(item, outcome)
        if report:
            pytest.fail(report, pytrace=False)
        if seconds > first and (outcome.kind == SAMPLED or outcome.text == _NOT_ONE):
            self.unfinished.append(search)

    def _search(self, item: pytest.Item) -> _Search:
        from kcache_conformance.phases.suite_options import SuiteOptions
        from kcache_model.call_program import Cancelled
        from kcache_model.interleaved_program import Timeouts
        from kcache_stress.interleaved.pytest_items import ARGUMENTS, arguments_of, positions_of
        from kcache_stress.modules.private_packages import HARNESS
        from kcache_stress.recorded_imports import record_import_path, record_module_files

        os.environ[ARGUMENTS] = arguments_of(self.config)
        config_options = self.config.option
        module = item.getparent(pytest.Module)
        path = self.import_paths.get("" if module is None else module.nodeid, sys.path)
        options = SuiteOptions(
            kind="test",
            seed=config_options.kcache_test_seed,
            budget_seconds=config_options.kcache_test_budget,
            shrink_seconds=_SHRINK_SECONDS,
            instrument=tuple(config_options.kcache_test_instrument),
            most_findings=1,
            parameters=positions_of(item),
            import_path=record_import_path(path),
            module_files=record_module_files(HARNESS),
            usual=tuple(sorted(self.started.failures)),
            timeouts=Timeouts(config_options.kcache_test_timeouts),
            cancel=config_options.kcache_test_cancel,
            cancelled=Cancelled(config_options.kcache_test_cancelled),
        )
        return _Search(item, _spec(item), options, self.standstill, self.started.has_tasks)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Continue the searches after all tests have run: first tests that failed last time, then the newest files."""
        result = yield
        cache = getattr(self.config, "cache", None)
        failed = cache.get("cache/lastfailed", {}) if cache is not None else {}
        self.unfinished.sort(key=lambda one: (one.item.nodeid not in failed, -_changed(one.item.path)))
        plugins = self.config.pluginmanager.get_plugins()
        of_xdist = [plugin for plugin in plugins if hasattr(plugin, "item_index")]  # maps a report to its test
        for search in self.unfinished:
            if session.shouldstop or session.shouldfail:
                break
            outcome, report = _searched(search, search.options.budget_seconds)
            for plugin in of_xdist:
                plugin.item_index = session.items.index(search.item)
            self.config.hook.pytest_runtest_logreport(
                report=later_report(search.item, replace(outcome, has_loop=search.has_loop), report)
            )
        return result

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Record the exit status of the session."""
        self.exit_status = int(exitstatus)

    def pytest_unconfigure(self) -> None:
        """Exit at once if a test was stopped: Python would wait forever for the threads of that test."""
        if self.has_left_threads and not hasattr(self.config, "workerinput"):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self.exit_status)


def _spec(item: Any) -> str:
    """The name by which a process can load a test."""
    from kcache_stress.import_paths import path_from_here
    from kcache_stress.loading import importable_spec

    name = item.originalname if item.cls is None else f"{item.cls.__qualname__}.{item.originalname}"
    spec = importable_spec(item.function if item.cls is None else item.cls)
    own = item.module.__name__ if item.module.__package__ else path_from_here(item.path) or item.path
    location = spec.rpartition(":")[0] if spec is not None else own
    return f"{location}:{name}"


def _judged(finding: Finding) -> tuple[str, str]:
    """Return the outcome and the text of a finding: ``FOUND`` if the interleaving makes the test fail."""
    from kcache_model.finding import FindingKind
    from kcache_model.places import file_name
    from kcache_stress.engine.counterexample import SHOWN_ONCE
    from kcache_stress.interleaved.body_exploration import FAILS_ALWAYS, FAILS_ON_LOOP, TOO_LONG
    from kcache_stress.modules.uncertainty import TIME_WAS_ADVANCED

    if finding.kind in (FindingKind.HANG, FindingKind.CRASH, FindingKind.NONDETERMINISM):
        places = re.findall(r'File "(.+)", line ([0-9]+), in (.+)', finding.detail)
        where = "".join(f" ({file_name(file)}:{line} in {function})" for file, line, function in places[-1:])
        if SHOWN_ONCE in finding.summary:
            return NOT_REPEATED, f"{finding.summary}; {finding.detail}"
        return AS_IT_IS, f"{finding.summary}{where}"
    if finding.kind is FindingKind.LIVELOCK:  # with real threads, the test finished
        return AS_IT_IS, TOO_LONG
    if finding.interleaving is None:
        return NOT_REPEATED, finding.summary
    if finding.unconfirmed:
        return AS_TIME_PASSES if TIME_WAS_ADVANCED in finding.unconfirmed else NOT_CONFIRMED, (
            f"{finding.summary}; not confirmed: {finding.unconfirmed}"
        )
    if FAILS_ALWAYS in finding.detail or FAILS_ON_LOOP in finding.detail:
        return AS_IT_IS, f"under the explorer it fails in every order: {finding.summary}"
    return FOUND, finding.summary


def _changed(path: Path) -> float:
    """Return the modification time of a file, in seconds since the epoch; 0 if the file does not exist."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _searched(search: _Search, seconds: float) -> tuple[Outcome, str]:
    """Search for this many seconds; return the outcome, and the report if the test has to fail, else an empty text."""
    from kcache_conformance.isolation import HarnessError
    from kcache_conformance.runs.suite import run_suite
    from kcache_model.errors import TargetError

    try:
        result = run_suite(search.spec, replace(search.options, budget_seconds=seconds))
    except TargetError as error:
        return Outcome(AS_IT_IS, str(error)), ""
    except HarnessError as error:
        return Outcome(AS_IT_IS, f"kcache itself failed: {str(error).strip().splitlines()[-1]}"), ""
    return _described(search, result)


def _described(search: _Search, result: SuiteResult) -> tuple[Outcome, str]:
    finding = next(iter(result.findings), None)
    counts = result.phases[-1].counts if result.phases else {}
    executions = int(counts.get("executions", 0))
    if finding is not None:
        is_explained = bool(search.standstill) and finding.interleaving is not None  # it failed normally as well
        kind, text = (FOUND, finding.summary) if is_explained else _judged(finding)
        report = _Report(finding, search.spec) if kind == FOUND else None
        outcome = Outcome(kind, text, executions, "" if report is None else report.command)
        return outcome, "" if report is None else report.text
    if result.phases and result.phases[-1].refused:
        return Outcome(AS_IT_IS, result.phases[-1].refused), ""
    if counts.get("exhausted"):
        return Outcome(EXHAUSTED, result.phases[-1].assumes, executions), ""
    if not executions:
        return Outcome(AS_IT_IS, _NOT_ONE), ""
    no_proof = next((phase.no_proof for phase in result.phases if phase.no_proof), "")
    return Outcome(NO_PROOF if no_proof else SAMPLED, no_proof, executions), ""


class _Report:
    """The report of a finding.

    Attributes:
        text: the whole report.
        command: the command that repeats the finding.
    """

    def __init__(self, finding: Finding, spec: str) -> None:
        from kcache_conformance.report.capturing import captured
        from kcache_conformance.report.finding_text import print_finding
        from kcache_conformance.runs.stored_replays import short_command
        from kcache_conformance.targets.replay_request import ReplayRequest

        self.command = ""

        def command_of(request: ReplayRequest) -> str:
            self.command = short_command(request)
            return self.command

        self.text = captured(lambda console: print_finding(console, finding, spec, command_of=command_of)).strip("\n")
