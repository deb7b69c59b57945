"""Settings of the whole test suite: what is run by default and what at night, Hypothesis profiles, golden files."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Before any test: beside an installed kcache, pytest would make up a package for the folder that the tests lie in.
import kcache.cli  # noqa: F401

# Children find there what Hypothesis has read off the sources already: to do that anew takes them half a second each.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(Path(__file__).parent / ".hypothesis"))

settings.register_profile(
    "ci", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("nightly", settings.get_profile("ci"), derandomize=False, max_examples=1000)
PROFILE = os.environ.get("KCACHE_HYPOTHESIS_PROFILE", "ci")
settings.load_profile(PROFILE)


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
    items[:] = kept
    config.hook.pytest_deselected(items=left)


@pytest.fixture(scope="session")
def effort() -> Callable[[float, float], float]:
    """``effort(some, many)``: how much work a test does by default, and at night."""
    return lambda some, many: many if PROFILE == "nightly" else some


_VARIABLE = (
    (re.compile(r"(after|within) [0-9.]+ s"), r"\1 SECONDS s"),
    (re.compile(r"kc1\.[A-Za-z0-9_=-]+"), "kc1.WORD"),
    (re.compile(r"[0-9]+ (rounds|programs|scenarios|operations|runs)"), r"N \1"),
    (re.compile(r"\b0x[0-9a-f]+"), "0xADDRESS"),
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
