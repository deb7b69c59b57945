import pytest

from benchmarks.parity import HERE, Example, examples, rates, replays, verdict


@pytest.mark.nightly
def test_a_state_is_equal_to_itself():
    queue = next(example for example in examples(HERE) if example.path.endswith("close_wakes_one.py"))
    assert queue == Example("delta-fifo", "examples/queues/close_wakes_one.py", "new_queue")
    found = verdict(HERE, queue, 0, "60s")
    assert (found.status, found.findings) == ("violation", ("deadlock",))
    sheet = replays(HERE, HERE, {"a deadlock": found.tokens[0]})
    assert sheet.rows == [("a deadlock", "1", "1", "")]


def test_each_kind_of_example_is_compared():
    kinds = {example.kind for example in examples(HERE)}
    assert kinds == {"indexer", "fifo", "delta-fifo", "real-fifo", "informer", "function"}


def test_what_cannot_be_run_is_no_verdict():
    assert verdict(HERE, Example("fifo", "examples/queues/absent.py", "new_queue"), 0, "5s").status == "exit 2"


@pytest.mark.nightly
def test_rates_are_those_of_the_explorer_and_the_judge():
    found = rates(0.01)
    assert min(found.values()) > 0
    assert len([name for name in found if name.startswith("executions")]) == 6
    assert len([name for name in found if name.startswith("calls judged")]) == 2
