"""No race is called exhausted, and no correct twin is accused, whatever Python it is written in."""

import warnings

import pytest

from kcache_stress.engine.granularity import Granularity
from kcache_stress.engine.strategy import Coverage
from stress.material.race_support import explored_race, missing_packages, race_names

GRANULARITIES = [Granularity.FREE, Granularity.GIL]
_NO_RACE_WITH_GIL = {"attr_plain", "sync_identity_small_int"}
"""Races that only free-threaded Python has: ``o.n += 1`` of plain numbers is not interrupted under the GIL."""
_HONEST = (Coverage.NO_PROOF, Coverage.BUDGET_SPENT)


def explored(name, tmp_path, monkeypatch, granularity, twin, audits=True):
    missing = missing_packages(name)
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    monkeypatch.syspath_prepend(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # coroutines that nobody awaits
        warnings.simplefilter("ignore", ResourceWarning)  # some races leave a file open
        return explored_race(name, tmp_path, granularity, twin=twin, audits=audits)


@pytest.mark.one_in(7, start=3)
@pytest.mark.parametrize("granularity", GRANULARITIES, ids=str)
@pytest.mark.parametrize("name", race_names())
def test_a_race_is_never_called_exhausted(name, granularity, tmp_path, monkeypatch):
    """Without an audit: that finds small races whatever the search overlooks, and few of those in large programs."""
    if granularity is Granularity.GIL and name in _NO_RACE_WITH_GIL:
        pytest.skip("no race under the GIL")
    result = explored(name, tmp_path, monkeypatch, granularity, twin=False, audits=False)
    assert result.problem is not None or result.coverage in _HONEST
    if result.coverage is Coverage.NO_PROOF:
        assert ": " in result.note


def test_a_step_on_two_containers_is_one_event(tmp_path, monkeypatch):
    """Were it two, the first would be read later than its event says, and what is seen in between left out."""
    result = explored("two_concatenated", tmp_path, monkeypatch, Granularity.FREE, twin=False, audits=False)
    assert result.problem is not None


@pytest.mark.parametrize("name", ["lib_csv_readers", "lib_print_stream", "lib_thread_text"])
def test_what_c_reads_behind_an_iterator_or_of_sys_is_seen(name, tmp_path, monkeypatch):
    result = explored(name, tmp_path, monkeypatch, Granularity.FREE, twin=False, audits=False)
    assert result.problem is not None
    result = explored(name, tmp_path, monkeypatch, Granularity.FREE, twin=True)
    assert (result.problem, result.coverage) == (None, Coverage.EXHAUSTED), result.note


@pytest.mark.parametrize("granularity", GRANULARITIES, ids=str)
def test_the_text_of_a_thread_is_read_in_steps(granularity, tmp_path, monkeypatch):
    """Also with a GIL, which is handed over where the methods of the attributes begin."""
    result = explored("lib_thread_text", tmp_path, monkeypatch, granularity, twin=False, audits=False)
    assert result.problem is not None


@pytest.mark.parametrize("name", ["lib_iterator_state", "lib_weakref_count"])
def test_what_no_opcode_touches_is_no_proof(name, tmp_path, monkeypatch):
    for twin in (False, True):
        result = explored(name, tmp_path, monkeypatch, Granularity.FREE, twin=twin)
        assert result.problem is None or not twin
        assert result.problem is not None or result.coverage is Coverage.NO_PROOF, result.note


@pytest.mark.one_in(29, start=4)
@pytest.mark.parametrize("granularity", GRANULARITIES, ids=str)
@pytest.mark.parametrize("name", race_names())
def test_a_correct_twin_is_not_accused(name, granularity, tmp_path, monkeypatch):
    result = explored(name, tmp_path, monkeypatch, granularity, twin=True)
    assert result.problem is None, result.problem


@pytest.mark.nightly
@pytest.mark.parametrize("granularity", GRANULARITIES, ids=str)
def test_nine_in_ten_races_are_found_and_nine_in_ten_twins_exhausted(granularity, tmp_path, monkeypatch):
    names = [name for name in race_names() if not missing_packages(name)]
    found = [explored(name, tmp_path, monkeypatch, granularity, twin=False).problem is not None for name in names]
    twins = [explored(name, tmp_path, monkeypatch, granularity, twin=True).coverage for name in names]
    assert sum(found) >= 0.9 * len(names)
    assert twins.count(Coverage.EXHAUSTED) >= 0.9 * len(names)
