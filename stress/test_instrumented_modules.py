"""Instrumented modules of a sandbox, seen from within, are the originals."""

import inspect

import pytest

from kcache_stress.engine.granularity import Granularity
from kcache_stress.modules.roots import Roots
from kcache_stress.modules.sandbox import Sandbox
from stress.material.explorer_targets import looking

FUNCTIONS = [name for name, value in vars(looking).items() if inspect.isfunction(value) and not name.startswith("_")]


@pytest.fixture(scope="module", params=list(Granularity))
def copy(request):
    """The instrumented copy of ``looking``."""
    return Sandbox(Roots(frozenset({looking.__name__})), request.param).load(looking.__name__)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_code_that_looks_at_itself_sees_the_original(copy, name):
    assert getattr(copy, name)() == getattr(looking, name)()
