"""Races and their correct twins: modules of a folder, written for a test and explored."""

import importlib.util
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from kcache_stress.engine.granularity import Granularity
from kcache_stress.target.scenarios import Scenario, ScenarioResult, ScenarioStrategy, explore_scenario

RACES = Path(__file__).parent / "races"

_HELD = """

import threading as _twin_threading


class _Twin:
    def __init__(self, inner):
        self.inner = inner
        self.lock = _twin_threading.RLock()


_twin_make, _twin_check, _twin_threads = make, check, THREADS


def _twin_hold(function):
    def held(twin):
        with twin.lock:
            return function(twin.inner)
    return held


def make():
    return _Twin(_twin_make())


def check(twin, results):
    return _twin_check(twin.inner, results)


THREADS = [_twin_hold(function) for function in _twin_threads]
"""


def race_names() -> list[str]:
    """The names of all races."""
    return sorted(file.stem for file in RACES.glob("*.py") if not file.stem.startswith("aux_"))


def header(text: str, key: str) -> list[str]:
    """The names in the line ``# key: a, b`` of a race."""
    found = re.search(rf"^# {key}: (.*)$", text, re.MULTILINE)
    return found[1].replace(",", " ").split() if found else []


def missing_packages(name: str) -> list[str]:
    """The packages that a race needs and that are not installed."""
    text = (RACES / f"{name}.py").read_text(encoding="utf-8")
    return [package for package in header(text, "needs") if importlib.util.find_spec(package) is None]


def correct(text: str) -> str:
    """The correct twin of a race."""
    if not re.search(r"(^\s*#C )|(#R\s*$)", text, re.MULTILINE):
        return text + _HELD
    kept = [line for line in text.splitlines() if not line.rstrip().endswith("#R")]
    return "\n".join(re.sub(r"^(\s*)#C ", r"\1", line) for line in kept) + "\n"


def explored_race(
    name: str,
    folder: Path,
    granularity: Granularity,
    *,
    twin: bool,
    strategy: ScenarioStrategy = "dpor",
    audits: bool = True,
) -> ScenarioResult:
    """Explore a race, or its twin; ``folder`` must be on ``sys.path``, ``audits`` as in :func:`explore_scenario`."""
    text = (RACES / f"{name}.py").read_text(encoding="utf-8")
    main = f"{name}__ok" if twin else name
    (folder / f"{main}.py").write_text(correct(text) if twin else text, encoding="utf-8")
    also = header(text, "also")
    for other in also + header(text, "foreign"):
        (folder / f"{other}.py").write_text((RACES / f"{other}.py").read_text(encoding="utf-8"), encoding="utf-8")
    return explored_module(main, also, granularity, strategy, audits)


def explored_module(
    main: str, also: Sequence[str], granularity: Granularity, strategy: ScenarioStrategy = "dpor", audits: bool = True
) -> ScenarioResult:
    """Explore the threads of an importable module that has ``make``, ``THREADS`` and ``check``."""
    shared: list[object] = []
    judge: list[Callable[[object, list[object]], str | None]] = []

    def setup(load):
        shared.clear()  # what the last execution left dies before the next begins
        module = load(main)
        for other in also:
            load(other)
        judge[:] = [module.check]
        shared.append(module.make())
        return [lambda work=work: work(shared[0]) for work in module.THREADS]

    scenario = Scenario((main, *also), setup, lambda results: judge[0](shared[0], results))
    executions = 3_000 if strategy == "dpor" else 400
    return explore_scenario(
        scenario, seconds=60.0, executions=executions, granularity=granularity, strategy=strategy, audits=audits
    )
