"""The tests that ``pytest --kcache-target`` runs: one for each phase of the target type.

To run them on a fixture of your own: ``from kcache_conformance.pytest_suite import *`` in a test module.
"""

from __future__ import annotations

import pytest

from kcache.testing import Factory, run_conformance

from .phases.budget_slices import LEAST_PROGRAMS
from .targets.target_types import target_type_named

__all__ = ["pytest_generate_tests", "test_kcache_conformance"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Create one test for each phase."""
    if metafunc.function is test_kcache_conformance:
        metafunc.parametrize("phase", tuple(target_type_named(metafunc.config.option.kcache_type).phases))


def test_kcache_conformance(phase: str, kcache_target: str | Factory, request: pytest.FixtureRequest) -> None:
    """The implementation passes one phase of the suite."""
    option = request.config.option
    seconds = 30.0 if option.kcache_budget is None and option.kcache_programs is None else option.kcache_budget
    share = 3 if phase in LEAST_PROGRAMS else 1
    run_conformance(
        kcache_target,
        type=option.kcache_type,
        phases=(phase,),
        seconds=None if seconds is None else seconds / share,
        programs=option.kcache_programs,
        seed=option.kcache_seed,
        semantics=option.kcache_semantics,
        strict_errors=option.kcache_strict_errors,
        strict=option.kcache_strict,
        instrument=option.kcache_instrument,
    )
