"""The pytest plugin of ``kcache run pytest``: each test that starts threads runs once as it is, then in every order.

The harness is imported when the first test has started
a thread. With pytest-xdist, workers write into their reports what the summary of the controller shows.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import re
import signal
import sys
import threading
import time
import unittest
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from kcache_conformance.events import SuiteResult
    from kcache_model.finding import Finding

PROPERTY: Final = "kcache"
"""The user property of a report that holds the line of the summary."""

_FOUND: Final = "fails in some order"
_EXPLORED: Final = "explored"
_AS_IT_IS: Final = "ran as it is"
_SPENT: Final = "budget spent"
_PROCESSES: Final = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn")
_SHRINK_SECONDS: Final = 10.0
"""For making a finding small: the search may have spent its budget, and a long schedule explains nothing."""
_WORK_SECONDS: Final = 0.01
"""Whoever works less than this meanwhile stands still."""
_AROUND: Final = ("_xunit_setup_", "_unittest_")
"""Begins the names of the fixtures of pytest that call setUp, setup_method and the like."""
_FOR_COROUTINES: Final = ("event_loop_policy",)
"""Fixtures that plugins make for every test, and that do nothing for those that are no coroutines."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options that ``kcache run pytest`` gives to the child, and pytest-xdist to its workers."""
    group = parser.getgroup("kcache", "interleavings of tests that start threads")
    group.addoption("--kcache-test-budget", type=float, default=2.0, help="seconds for the interleavings of a test")
    group.addoption("--kcache-test-patience", type=float, default=30.0, help="seconds of standstill that end a test")
    group.addoption("--kcache-test-seed", type=int, default=0, help="of everything random")
    group.addoption("--kcache-test-instrument", action="append", default=[], help="instrument this package too")


def pytest_configure(config: pytest.Config) -> None:
    """Begins to listen to what tests start."""
    config.pluginmanager.register(_Explorer(config), "kcache-explorer")


@dataclass
class _Started:
    """What a test has started: threads, as ``Thread.start`` tells, and processes, as audit events tell."""

    is_listening: bool = False
    threads: int = 0
    process: str = ""

    def hear(self, event: str, _: tuple[Any, ...]) -> None:
        """An audit event."""
        if self.is_listening and event in _PROCESSES and not self.process:
            from kcache_stress.explorer.virtual.refusal import where

            self.process = where(sys._getframe(1))

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """While this is entered, what is started is counted anew."""
        real = threading.Thread.start

        @functools.wraps(real)
        def start(thread: threading.Thread) -> None:
            self.threads += 1
            real(thread)

        self.threads, self.process, self.is_listening = 0, "", True
        threading.Thread.start = start  # type: ignore[method-assign,assignment]
        try:
            yield
        finally:
            threading.Thread.start = real  # type: ignore[method-assign]
            self.is_listening = False


class _StoodStillError(BaseException):
    """Ends a test whose threads wait for each other; none that tests catch."""


@contextlib.contextmanager
def _ended_at_standstill(seconds: float, started: _Started) -> Iterator[None]:
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
        if started.threads and not started.process and worked - before < _WORK_SECONDS:
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
    started: _Started = field(default_factory=_Started)
    standstill: str = ""
    has_left_threads: bool = False
    exit_status: int = 0

    def __post_init__(self) -> None:
        sys.addaudithook(self.started.hear)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        """Runs a test as it is, then in every order of its threads."""
        started, seconds = self.started, self.config.option.kcache_test_patience
        self.standstill = ""
        with started.listening(), _ended_at_standstill(seconds, started):
            try:
                yield
            except _StoodStillError:
                self.has_left_threads = True
                self.standstill = (
                    f"it stood still for {seconds:g} s; if it does but wait, give kcache run more --patience"
                )
        self._look_into(item)
        if self.standstill:
            pytest.fail(self.standstill, pytrace=False)

    def _look_into(self, item: pytest.Item) -> None:
        """Explore a test that has started threads, if it can be explored."""
        started = self.started
        function = getattr(item, "function", None)
        if not (started.threads or started.process) or function is None or hasattr(function, "kcache_interleaved"):
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

        spec = _spec(item)
        asked = self.config.option
        options = SuiteOptions(
            kind="test",
            seed=asked.kcache_test_seed,
            budget_seconds=asked.kcache_test_budget,
            shrink_seconds=_SHRINK_SECONDS,
            instrument=tuple(asked.kcache_test_instrument),
            most_findings=1,
            parameters=_parameters(item),
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
                if getattr(report, "when", "") == "call":
                    tests.add(report.nodeid)
                    lines.update((report.nodeid, text) for name, text in report.user_properties if name == PROPERTY)
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


def _not_explored(item: pytest.Item, started: _Started) -> str:
    """Why a test is not explored, as far as that is known before it is tried; empty if it may be."""
    if inspect.iscoroutinefunction(item.function):  # type: ignore[attr-defined]
        return "it is a coroutine: event loops cannot be scheduled"
    if started.process:
        return f"{started.process} starts a process, which cannot be scheduled"
    foreign = ", ".join(_foreign_fixtures(item))
    return f"it needs the fixture {foreign}" if foreign else ""


def _foreign_fixtures(item: Any) -> list[str]:
    """The fixtures and parameters of a test that only pytest can make: of plugins, of hooks."""
    from kcache_stress.interleaved.arguments import Surroundings
    from kcache_stress.interleaved.given_fixtures import GIVEN

    info = item._fixtureinfo
    names = [name for name in info.initialnames if not name.startswith(_AROUND) and name not in _FOR_COROUTINES]
    if item.cls is not None and issubclass(item.cls, unittest.TestCase):
        return names
    places = (item.module,) if item.cls is None else (item.cls, item.module)
    found = Surroundings(item.function, places, _parameters(item), _conftests(item))
    made = {name: found.fixture(name) for name in info.names_closure}
    others = [  # pytest has another fixture of that name, of a plugin or of a conftest.py that is not in sight
        name
        for name, one in made.items()
        if one is not None and inspect.unwrap(info.name2fixturedefs[name][-1].func) is not inspect.unwrap(one[0])
    ]
    others += [  # a plugin has one of the name of a fixture that is made without pytest
        name
        for name, one in made.items()
        if one is None and name in GIVEN and not _is_of_pytest(info.name2fixturedefs[name][-1].func)
    ]
    return list(dict.fromkeys([*found.unknown(names), *others]))


def _is_of_pytest(fixture: object) -> bool:
    module: str = getattr(inspect.unwrap(fixture), "__module__", "")  # type: ignore[arg-type]
    return module.startswith("_pytest.")


def _conftests(item: Any) -> list[ModuleType]:
    """The modules that pytest has made of the ``conftest.py`` of a test, the nearest first."""
    from kcache_stress.interleaved.conftests import conftests_of

    files = {vars(module).get("__file__"): module for module in list(sys.modules.values()) if module is not None}
    names = conftests_of(_spec(item).rpartition(":")[0], item.path)
    found = (sys.modules.get(name) if isinstance(name, str) else files.get(str(name)) for name in names)
    return [module for module in found if module is not None]


def _parameters(item: Any) -> dict[str, int]:
    """The positions of values in what a test is parametrized with; what a conftest.py has it use unasked, too."""
    from kcache_stress.interleaved.arguments import fixtures_of, positions

    holders = [fixtures_of(conftest) for conftest in _conftests(item)]
    unasked = [name for name in item._fixtureinfo.initialnames if any(name in holder for holder in holders)]
    called = getattr(item, "callspec", None)
    if called is None:
        return dict.fromkeys(unasked, 0)
    return dict.fromkeys(unasked, 0) | positions(called.params, (item.function, item.cls, item.module), called.indices)


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


def _fail(finding: Finding, spec: str) -> None:
    from kcache_conformance.kept_tokens import kept_command
    from kcache_conformance.report.capturing import captured
    from kcache_conformance.report.finding_text import print_finding

    pytest.fail(
        captured(lambda console: print_finding(console, finding, spec, command_of=kept_command)).strip("\n"),
        pytrace=False,
    )
