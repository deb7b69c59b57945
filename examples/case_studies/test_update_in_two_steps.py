import pytest

from kcache_model.finding import FindingKind
from kcache_stress.engine.counterexample import Counterexample
from kcache_stress.engine.granularity import REWRITTEN, Granularity
from kcache_stress.engine.strategy import Coverage

from .update_in_two_steps import explored

UPDATE, READ = 0, 1


@pytest.mark.parametrize("granularity", REWRITTEN)
def test_a_reader_misses_an_object_that_is_there_all_the_time(granularity: Granularity) -> None:
    result, smallest = explored("update_removes_first", granularity)
    assert result.problem is not None
    assert result.problem.kind is FindingKind.NONLINEARIZABLE
    assert isinstance(smallest, Counterexample)
    assert smallest.is_minimal
    assert smallest.preemptions == 1
    assert [thread for thread, _ in smallest.schedule] == [UPDATE, READ, UPDATE]
    ((seen,),) = smallest.execution.outcomes[READ:]
    assert seen.error is None
    assert seen.value is None


@pytest.mark.parametrize("granularity", REWRITTEN)
def test_the_textbook_holds_its_lock(granularity: Granularity) -> None:
    result, _ = explored("textbook", granularity)
    assert result.problem is None
    assert result.coverage is Coverage.EXHAUSTED
