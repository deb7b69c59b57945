"""Settings of the whole test suite: what is run by default and what at night, Hypothesis profiles, golden files."""

from __future__ import annotations

import gc
import multiprocessing
import multiprocessing.forkserver
import os
import re
import runpy
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing.reduction import DupFd
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import none

# Before any test: beside an installed kcache, pytest would make up a package for the folder that the tests lie in.
import kcache.cli  # noqa: F401
from kcache.cli import eta
from kcache_conformance.isolation import child
from kcache_model.call_program import HASH_SEED

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


_OBJECTS_BETWEEN_COLLECTIONS = 20_000
"""700 by default, which takes a twentieth of the time of all tests."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files from what is printed now")


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
        return subprocess.run(
            [sys.executable, "-P", "-m", *command],
            cwd=folder,
            env={**inherited, "NO_COLOR": "1", **variables},
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


_WARM_CHILD = Path(__file__).parent / "stress" / "material" / "warm_child.py"
_IMPORTED_BY_CHILDREN = [
    "kcache_conformance.isolation.worker",
    "kcache_conformance.runs.jobs",
    "kcache_conformance.runs.replays",
    "kcache_conformance.indexers.program_job",
    "kcache_conformance.indexers.sequential_phases",
    "kcache_conformance.indexers.concurrent_phases",
    "kcache_conformance.verification.explored_examples",
    "kcache_conformance.fuzzing.session",
    "kcache_conformance.fuzzing.search_job",
    "kcache_conformance.fuzzing.replaying",
    "kcache_conformance.classes.call_replay",
    "kcache_conformance.classes.class_type",
    "kcache_conformance.objects.concurrent_phases",
    "kcache_conformance.objects.sequential",
    "kcache_stress.interleaved.script",
    "kcache_stress.objects.object_exploration",
]


class WarmChild:
    """A child process as ``subprocess.Popen`` shows it, forked from a server where the imports are done."""

    _server = multiprocessing.get_context("forkserver")
    _home = 0

    def __init__(self, command: list[str], *, stderr: IO[str], env: dict[str, str], **_: object) -> None:
        its_input, own_input = os.pipe()
        own_output, its_output = os.pipe()
        self.stdin = os.fdopen(own_input, "w", encoding="utf-8")
        self.stdout = os.fdopen(own_output, encoding="utf-8")
        given = {"streams": [DupFd(of) for of in (its_input, its_output, stderr.fileno())], "environment": env}
        self._process = self._server.Process(target=runpy.run_path, args=(str(_WARM_CHILD), given))
        self._process.start()
        os.close(its_input)
        os.close(its_output)
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def wait(self) -> int | None:
        self._process.join()
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self._process.pid or 0, number)

    @classmethod
    def can_serve(cls, environment: dict[str, str]) -> bool:
        """Whether a child needs nothing that the server has in another way."""
        changed = {name for name, value in environment.items() if value != os.environ.get(name)}
        is_usual = changed <= {HASH_SEED} and environment[HASH_SEED] == "0"
        return is_usual and os.getpid() == cls._home

    @classmethod
    def start_server(cls) -> None:
        """Have the server hash texts as children do, or the sets of the modules that it imports have another order."""
        cls._home = os.getpid()  # of what is forked from it, the server is no child
        cls._server.set_forkserver_preload(_IMPORTED_BY_CHILDREN)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(HASH_SEED, "0")
            multiprocessing.forkserver.ensure_running()


def _start_child(command: list[str], **options: Any) -> WarmChild | subprocess.Popen[str]:
    return (WarmChild if WarmChild.can_serve(options["env"]) else subprocess.Popen)(command, **options)


@pytest.fixture(autouse=True, scope="session")
def _warm_children() -> Iterator[None]:
    """Hundreds of tests start a child; by default it need not import everything anew, which is most of its time."""
    if PROFILE == "nightly" or sys.platform != "linux":
        yield
        return
    WarmChild.start_server()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(child, "subprocess", SimpleNamespace(Popen=_start_child, PIPE=subprocess.PIPE))
        yield
