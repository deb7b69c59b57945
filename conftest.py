"""Settings of the whole test suite: what is run by default and what at night, Hypothesis profiles, golden files."""

from __future__ import annotations

import faulthandler
import gc
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import none

# Before any test: beside an installed kcache, pytest would make up a package for the folder that the tests lie in.
import kcache.cli
from kcache.cli import eta

settings.register_profile(
    "ci", max_examples=50, derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("nightly", settings.get_profile("ci"), derandomize=False, max_examples=1000)
PROFILE = os.environ.get("KCACHE_HYPOTHESIS_PROFILE", "ci")
settings.load_profile(PROFILE)
# Children find there what Hypothesis has read off the sources: to do that anew takes each of them half a second.
if PROFILE == "nightly":
    os.environ["KCACHE_CODE"] = "0"  # all is instrumented anew
else:
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(Path(__file__).parent / ".hypothesis"))
eta.FIRST_LINE_SECONDS = 3600.0  # what is printed must not depend on how long a run takes
os.environ.pop("CI", None)  # kcache and pytest print longer lines there
os.environ["KCACHE_SAVED"] = "0"  # what one test finds is not what another one begins with


HAS_WARM_PROCESSES = PROFILE != "nightly" and sys.platform == "linux"
HAS_WARM_COMMANDS = HAS_WARM_PROCESSES and Path(kcache.cli.__file__).is_relative_to(Path(__file__).parent)
"""An installed kcache is started as users start it."""


def _of_python(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that decide how an interpreter starts."""
    return {name: value for name, value in environment.items() if name.startswith("PYTHON")}


_OF_PYTHON = _of_python(os.environ)

_ERRORS = pytest.StashKey[int]()

_SECONDS_AFTER_TIMEOUT = 60.0
"""Time for a test that its timeout interrupts to clean up."""

_OBJECTS_BETWEEN_COLLECTIONS = 20_000
"""700 by default, which takes a twentieth of the time of all tests."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files from what is printed now")


def pytest_configure(config: pytest.Config) -> None:
    """Keep the error output, which tests replace."""
    config.stash[_ERRORS] = os.dup(2)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Have the process end, with all stacks, if the timeout does not end this test and no other one begins.

    The timeout raises an exception in the main thread. Code under test may swallow it, and C code does not look for it.
    """
    if timeout := item.config.getini("timeout"):  # none in pages that are followed with this file
        seconds = float(timeout) + _SECONDS_AFTER_TIMEOUT
        faulthandler.dump_traceback_later(seconds, exit=True, file=item.config.stash[_ERRORS])


def pytest_sessionfinish() -> None:
    """The process may live on, in an interactive session."""
    faulthandler.cancel_dump_traceback_later()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """By default, tests marked ``nightly`` are left out, and of one marked ``one_in(N)`` all cases but every Nth."""
    if PROFILE == "nightly":
        return
    cases: Counter[str] = Counter()
    kept, left = [], []
    for item in items:
        test = item.nodeid.partition("[")[0]
        thinned = item.get_closest_marker("one_in")
        is_chosen = thinned is None or cases[test] % thinned.args[0] == thinned.kwargs.get("start", 0)
        cases[test] += 1
        (kept if is_chosen and not item.get_closest_marker("nightly") else left).append(item)
    # The first worker gets these: it waits, while the others use the processors and take over the rest of its tests.
    items[:] = sorted(kept, key=lambda item: item.get_closest_marker("waits") is None)
    config.hook.pytest_deselected(items=left)


def pytest_collection_finish() -> None:
    """Every collection of garbage would go through thousands of tests and modules."""
    given(none())(lambda _: None)()  # Hypothesis sets itself up, and looks among what is not frozen
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Copies of modules that the tests of a module leave behind are not gone through by all that follow."""
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="session")
def effort() -> Callable[[float, float], float]:
    """``effort(some, many)``: how much work a test does by default, and at night."""
    return lambda some, many: many if PROFILE == "nightly" else some


@pytest.fixture(scope="session")
def run_command() -> Callable[..., subprocess.CompletedProcess[str]]:
    """``run_command(folder, "kcache", "check", ...)``: as if it was typed there; names set variables."""

    def run_command(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        environment = {**inherited, "NO_COLOR": "1", **variables}
        # `kcache run` replaces its process by pytest. With -W error, pytest fails if its plugins are imported before.
        is_usual = command[0] in ("kcache", "pytest") and command[1:2] != ("run",) and "-W" not in command
        is_usual = is_usual and _of_python(environment) == _OF_PYTHON
        if HAS_WARM_COMMANDS and is_usual:
            from stress.material import warm_processes

            return warm_processes.run_command(folder, command, environment)
        return subprocess.run(
            [sys.executable, "-P", "-m", *command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run_command


_VARIABLE = (
    (re.compile(r"(after|within) [0-9.]+ s"), r"\1 SECONDS s"),
    (re.compile(r"(k[a-z]1)\.[A-Za-z0-9_=-]+"), r"\1.WORD"),
    (re.compile(r"[0-9]+ (rounds|programs|scenarios|operations|runs)"), r"N \1"),
    (re.compile(r"\b0x[0-9a-f]+"), "0xADDRESS"),
    (re.compile(r"(?<=  tested: )\S.*"), "VERSION, FILE"),
    (re.compile(r"CPython 3\.[0-9.]+[0-9]( \(free-threaded\))?"), "CPython VERSION"),
)


def normalised(text: str) -> str:
    """Human output without what differs from run to run: times, counts, words, addresses, trailing blanks."""
    for pattern, replacement in _VARIABLE:
        text = pattern.sub(replacement, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """``golden(name, text)``: compares with ``golden/name.txt`` beside the test; ``--update-golden`` rewrites it."""

    def compare(name: str, text: str) -> None:
        file = Path(request.path).parent / "golden" / f"{name}.txt"
        text = normalised(text)
        if request.config.getoption("--update-golden"):
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert file.is_file(), f"{file} is missing; write it with --update-golden"
        assert text == file.read_text(encoding="utf-8")

    return compare


@pytest.fixture(autouse=True, scope="session")
def _warm_processes() -> Iterator[None]:
    """By default, the processes that tests start need not import everything anew, which is most of their time."""
    if not HAS_WARM_PROCESSES:
        yield
        return
    from stress.material import warm_processes  # beside an installed kcache, only tests can import it

    warm_processes.start_server()
    yield
    warm_processes.serve_no_children()
