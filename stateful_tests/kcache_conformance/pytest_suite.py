"""The tests that ``pytest --kcache-target`` runs: one for each phase.

To run them on a fixture of your own: ``from kcache_conformance.pytest_suite import *`` in a test module.
"""

from __future__ import annotations

import pytest

from kcache.testing import PHASES, Factory, run_conformance

__all__ = ["test_kcache_conformance"]


@pytest.mark.parametrize("phase", PHASES)
def test_kcache_conformance(phase: str, kcache_target: str | Factory, request: pytest.FixtureRequest) -> None:
    """The implementation passes one phase of the suite."""
    option = request.config.option
    run_conformance(
        kcache_target,
        phases=(phase,),
        seconds=option.kcache_budget / (3 if phase in ("machine", "explorer", "stress") else 1),
        seed=option.kcache_seed,
        semantics=option.kcache_semantics,
        strict_errors=option.kcache_strict_errors,
        strict=option.kcache_strict,
        instrument=option.kcache_instrument,
    )
