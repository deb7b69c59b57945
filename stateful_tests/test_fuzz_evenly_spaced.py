from itertools import pairwise

import pytest

from kcache_conformance.fuzzing.evenly_spaced import evenly_spaced


@pytest.mark.parametrize("length", range(40))
@pytest.mark.parametrize("most", [2, 3, 7])
def test_the_first_and_the_last_are_among_them(length, most):
    chosen = evenly_spaced(range(length), most)
    assert len(chosen) == min(length, most)
    assert chosen[:1] == list(range(length))[:1]
    assert chosen[-1:] == list(range(length))[-1:]
    distances = {later - earlier for earlier, later in pairwise(chosen)}
    assert not distances or max(distances) - min(distances) <= 1
    assert 0 not in distances
