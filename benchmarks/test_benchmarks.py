import json
import random
from collections.abc import Callable, Iterator

import pytest

from benchmarks.naive import NaiveIndexer
from benchmarks.operations import Cell, rows
from benchmarks.pods import SAMPLE, STORED, Data, Pod, by_node, key_of, make_pods, node_with
from benchmarks.subjects import FACTORIES, NAIVE, Subject, installed, plain_dicts


@pytest.fixture(params=FACTORIES)
def factory(request: pytest.FixtureRequest) -> Callable[[], Subject]:
    found = installed()
    if request.param not in found:
        pytest.skip(f"{request.param} is not installed, or would turn the GIL on")
    return found[request.param]


@pytest.fixture
def subject(factory: Callable[[], Subject]) -> Iterator[Subject]:
    made = factory()
    yield made
    made.close()


@pytest.fixture
def data() -> Data:
    return Data(stored=make_pods(50), sample=10)


def test_every_operation_runs_and_leaves_the_content_as_it_was(factory, subject, data):
    for pod in data.stored:
        subject.add(pod)
    for row in rows(small=True):
        if not row.possible_for(subject):
            continue
        assert row.measure(Cell(factory, subject, data), max(3, row.least_loops)) > 0, row.name
        for pod in data.stored:
            found = subject.get_by_key(pod.key)
            assert (found.node, found.namespace) == (pod.node, pod.namespace), row.name
        assert all(subject.get_by_key(pod.key) is None for pod in data.new), row.name


def test_the_indexers_can_do_everything():
    for name in ("kcache", NAIVE):
        assert all(row.possible_for(FACTORIES[name]()) for row in rows())


def test_every_subject_gives_the_same_answers(subject):
    expected, choose = plain_dicts(), random.Random(7)
    stored = {}
    for _ in range(300):
        number = choose.randrange(12)
        pod = Pod(f"pod-{number}", f"namespace-{number % 3}", f"node-{choose.randrange(4)}")
        operation = choose.choice(["write", "write", "delete", "replace"])
        if operation == "write":
            name = "update" if pod.key in stored else "add"
            getattr(subject, name)(pod)
            getattr(expected, name)(pod)
            stored[pod.key] = pod
        elif operation == "delete" and stored:
            pod = stored.pop(choose.choice(list(stored)))
            subject.delete(pod)
            expected.delete(pod)
        elif operation == "replace" and subject.replace is not None and choose.random() < 0.2:
            stored = {f"pod-{number}": Pod(f"pod-{number}", f"namespace-{number % 3}", "node-1") for number in range(5)}
            subject.replace(list(stored.values()))
            expected.replace(list(stored.values()))
        assert_same_answers(subject, expected)


def assert_same_answers(subject: Subject, expected: Subject) -> None:
    for number in range(12):
        assert subject.get_by_key(f"pod-{number}") is expected.get_by_key(f"pod-{number}")
    if subject.by_index is None:
        return
    for name, value in [("namespace", f"namespace-{n}") for n in range(3)] + [("node", f"node-{n}") for n in range(5)]:
        assert {id(pod) for pod in subject.by_index(name, value)} == {id(pod) for pod in expected.by_index(name, value)}
        assert subject.index_keys(name, value) == expected.index_keys(name, value)


def test_the_naive_port_handles_several_values_per_object():
    port = NaiveIndexer(key_of, {"part": lambda pod: pod.node.split("+")})
    port.add(Pod("a", "", "x+y"))
    port.add(Pod("b", "", "y"))
    port.add(Pod("a", "", "y+z"))
    assert port.index_keys("part", "y") == ["a", "b"]
    assert port.index_keys("part", "x") == []
    assert sorted(port.list_index_func_values("part")) == ["y", "z"]
    port.add_indexers({"node": by_node})
    assert port.index_keys("node", "y+z") == ["a"]


@pytest.mark.parametrize("matches", [10, 100, 1000])
def test_nodes_have_as_many_pods_as_their_names_say(matches):
    assert sum(pod.node == node_with(matches) for pod in make_pods(STORED)) == matches


def test_new_pods_are_new():
    data = Data()
    assert len(data.some) == SAMPLE
    assert not {pod.key for pod in data.stored} & {pod.key for pod in data.new}


def test_results_become_a_table_and_a_pyperf_suite(tmp_path):
    pyperf = pytest.importorskip("pyperf")
    from benchmarks import run

    table = rows(small=True)
    results = run.measured(installed(), table, Data(stored=make_pods(50), sample=10), repetitions=1)
    printed = list(run.lines(table, results, list(installed())))
    assert [line[0] for line in printed] == [row.name for row in table]
    path = tmp_path / "results.json"
    run.saved(table, results, str(path))
    assert "add: kcache" in pyperf.BenchmarkSuite.load(str(path)).get_benchmark_names()
    assert json.loads(path.read_text())["benchmarks"]
