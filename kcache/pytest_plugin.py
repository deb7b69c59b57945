"""The pytest plugin: ``pytest --kcache-target package.module:factory`` runs the conformance suite.

The harness is imported only when the option is given or the fixture is used.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from argparse import ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from kcache.testing import Factory, FuzzReport

_SUITE = "kcache_conformance.pytest_suite"


def _seconds(text: str) -> float:
    """Convert ``30``, ``30s``, ``2m`` or ``1.5h`` into seconds."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(s|m|h|)", text.strip())
    if match is None or float(match[1]) == 0:
        raise ArgumentTypeError(f"{text!r} is not a duration; write for example 30s, 2m or 1.5h")
    return float(match[1]) * {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}[match[2]]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    group = parser.getgroup("kcache", "conformance of thread-safe, indexed caches")
    group.addoption(
        "--kcache-target",
        metavar="TARGET",
        help="run the kcache conformance suite on package.module:factory or path/to/file.py:factory",
    )
    group.addoption(
        "--kcache-type",
        default="indexer",
        metavar="TYPE",
        help="the type of TARGET, as for `kcache check --type` (default indexer)",
    )
    group.addoption(
        "--kcache-budget",
        type=_seconds,
        metavar="DURATION",
        help="total time of the random phases: 30, 30s, 2m (default 30s)",
    )
    group.addoption(
        "--kcache-programs",
        type=int,
        metavar="NUMBER",
        help="number of programs of each random phase, so that the outcome does not depend on the machine; without "
        "--kcache-budget the time is not limited",
    )
    group.addoption("--kcache-seed", type=int, default=0, help="seed of all random choices (default 0)")
    group.addoption(
        "--kcache-semantics",
        choices=["classic", "current"],
        default="classic",
        help="client-go generation (default classic)",
    )
    group.addoption(
        "--kcache-instrument",
        action="append",
        default=[],
        metavar="PACKAGE",
        help="instrument this package too; may be repeated (default: the package or folder of TARGET)",
    )
    group.addoption("--kcache-strict-errors", action="store_true", help="require kcache's error types")
    group.addoption(
        "--kcache-strict", action="store_true", help="require more than client-go promises: the contract strict"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Add the suite to the paths that pytest collects, if ``--kcache-target`` is set.

    Raises:
        pytest.UsageError: ``--kcache-target`` is empty, as an unset variable of a script may be.
    """
    target = config.getoption("--kcache-target")
    if target == "":
        raise pytest.UsageError("--kcache-target is empty; write package.module:factory or path/to/file.py:factory")
    suite_module = importlib.util.find_spec(_SUITE) if target is not None else None
    if suite_module is not None and suite_module.origin is not None:
        suite = str(Path(suite_module.origin))
        paths = config.args if _wants_own_tests(config) else []
        if suite not in paths:
            config.args[:] = [*paths, suite]


def _wants_own_tests(config: pytest.Config) -> bool:
    """Whether to collect the project's own tests as well.

    False if ``--kcache-target`` is on the command line, and neither the command line nor the configuration has paths.
    """
    is_typed = any(str(argument).startswith("--kcache-target") for argument in config.invocation_params.args)
    return not is_typed or config.args_source is not pytest.Config.ArgsSource.INVOCATION_DIR


def pytest_report_header(config: pytest.Config) -> str | None:
    """Return the line of the header that names the target and the seed."""
    target = config.getoption("--kcache-target")
    return f"kcache target: {target}, seed {config.getoption('--kcache-seed')}" if target else None


def pytest_sessionstart(session: pytest.Session) -> None:
    """Reject a target that cannot be loaded. A child process loads it, because loading may end the process."""
    target: str | None = session.config.getoption("--kcache-target")
    if target is None or hasattr(session.config, "workerinput"):
        return
    from kcache_conformance.phases.suite_options import SuiteOptions
    from kcache_conformance.runs.jobs import load_in_child
    from kcache_model.errors import TargetError

    kind: str = session.config.option.kcache_type
    try:
        load_in_child(target, SuiteOptions(kind=kind))
    except TargetError as error:
        raise pytest.UsageError(f"--kcache-target: {error}") from None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Shorten a finding to its first line for pytest's short summary: on a CI, pytest prints whole messages there."""
    report = yield
    crash = getattr(report.longrepr, "reprcrash", None)
    errors = sys.modules.get("kcache_conformance.errors")
    if crash is not None and call.excinfo is not None and errors is not None:
        is_noted = any(name == "kcache" for name, _ in item.user_properties)  # by `kcache run pytest`
        if is_noted or isinstance(call.excinfo.value, errors.ConformanceError):
            crash.message = str(call.excinfo.value).strip().partition("\n")[0]
    return report


@pytest.fixture(scope="session")
def kcache_target(request: pytest.FixtureRequest) -> str | Factory:
    """The implementation under test: what ``--kcache-target`` names. Override it to return your own factory."""
    target: str | None = request.config.getoption("--kcache-target")
    if target is None:
        pytest.fail("name an implementation with --kcache-target, or override the fixture kcache_target")
    return target


@pytest.fixture(scope="session")
def kcache_fuzz() -> Callable[..., FuzzReport]:
    """``kcache_fuzz(function, objects=None, kind="index", ...)``: fails if an index or key function breaks a rule.

    The arguments are those of :func:`kcache.testing.fuzz_index_func`.
    """
    from kcache_conformance.fuzzing.library import by_kind

    def fuzz(function: Any, objects: Any = None, *, kind: str = "index", **options: Any) -> FuzzReport:
        __tracebackhide__ = True
        return by_kind(kind)(function, objects, **options)

    return fuzz
