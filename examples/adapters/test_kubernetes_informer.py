"""What ``docs/informers-official-client.md`` says of the official client's informer."""

import logging
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("kubernetes.informer", reason="the client has an informer since 36.0.0")

import kubernetes.client
import kubernetes.informer

from kcache.informers import ApiError
from kcache_conformance.informers.fake_server import FakeServer
from kcache_conformance.informers.informer_exploration import InformerExplorationTarget
from kcache_conformance.informers.quiet import quiet
from kcache_conformance.informers.requests import WATCH
from kcache_model.finding import FindingKind
from kcache_model.informers.program import InformerProgram, Step, StepName
from kcache_stress.engine.counterexample import replayed
from kcache_stress.engine.granularity import Granularity
from kcache_stress.engine.preemption_bounded import PreemptionBounded
from kcache_stress.target.investigation import ExplorationResult, investigate
from stateful_tests.material.api_server import HttpApiServer

from .kubernetes_informer import UNSUPPORTED, OfficialInformer, _ListFunc, official_informer

TARGET = "adapters.kubernetes_informer:official_informer"
OFFICIAL = ("kubernetes.informer",)
SECONDS = 20.0

A = "a"
CREATE, UPDATE, DELETE = Step(StepName.CREATE, A), Step(StepName.UPDATE, A), Step(StepName.DELETE, A)
SETTLE, MISS, EXPIRE, REPEAT = (
    Step(name) for name in (StepName.SETTLE, StepName.MISS, StepName.EXPIRE, StepName.REPEAT)
)


def program(*steps: Step, before: tuple[Step, ...] = (), handlers: int = 1) -> InformerProgram:
    return InformerProgram(before, (steps,), handlers)


@pytest.fixture(scope="module", autouse=True)
def _examples_on_the_path() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent.parent))
        yield


@pytest.fixture(scope="module")
def informer(_examples_on_the_path: None) -> InformerExplorationTarget:
    return InformerExplorationTarget(TARGET, OFFICIAL)


def explored(informer: InformerExplorationTarget, of: InformerProgram) -> ExplorationResult:
    """What is found with up to two preemptions."""
    return investigate(
        lambda granularity: informer.at(granularity).open_runner(of),
        lambda _: [(PreemptionBounded(2), 100_000)],
        granularity=informer.granularity,
        seconds=SECONDS,
    )


KEPT = {
    "changes": program(UPDATE, Step(StepName.CREATE, "b"), DELETE, before=(CREATE,)),
    "the connection ends": program(SETTLE, Step(StepName.CUT), UPDATE, before=(CREATE,)),
    "410 gone": program(SETTLE, EXPIRE, UPDATE, before=(CREATE,)),
    "refused lists": program(before=(CREATE, Step(StepName.REFUSE_LISTS, 2))),
    "refused watches": program(UPDATE, before=(CREATE, Step(StepName.REFUSE_WATCHES, 3))),
    "a bookmark": program(SETTLE, Step(StepName.BOOKMARK), UPDATE, before=(CREATE,)),
    "a repeated update": program(SETTLE, UPDATE, REPEAT, before=(CREATE,)),
    "a repeated deletion": program(SETTLE, DELETE, REPEAT, before=(CREATE,)),
    "a removed handler": program(SETTLE, Step(StepName.REMOVE_HANDLER, 0), CREATE, handlers=2),
}


@pytest.mark.nightly
@pytest.mark.one_in(9, start=2)
@pytest.mark.parametrize("name", KEPT)
def test_it_keeps_the_rules(informer: InformerExplorationTarget, name: str) -> None:
    result = explored(informer, KEPT[name])
    assert result.problem is None
    assert result.executions > 1


BROKEN = {
    "a missed deletion": (program(SETTLE, MISS, DELETE, before=(CREATE,)), "on_delete.*: the store still showed"),
    "a late handler": (program(SETTLE, Step(StepName.ADD_HANDLER), before=(CREATE,)), "handler 1 lacks default/a"),
    "a repeated addition": (program(SETTLE, CREATE, REPEAT), "on_add.*: .* had already been reported"),
    "a slow handler": (
        program(Step(StepName.BLOCK_HANDLER, 0), CREATE, SETTLE, handlers=2),
        "handler 1, while handler 0 was slow did not reach the state of the server",
    ),
}


@pytest.mark.nightly
def test_it_does_not_go_back_with_a_replica_that_lags_behind(informer: InformerExplorationTarget) -> None:
    update_twice = (CREATE, UPDATE, UPDATE)
    steps = (SETTLE, Step(StepName.GO_BACK, 1), EXPIRE)
    assert informer.run_once(program(*steps, before=update_twice)) is None


@pytest.mark.one_in(4, start=1)
@pytest.mark.parametrize("name", BROKEN)
def test_it_breaks_a_rule_in_any_order_of_its_threads(informer: InformerExplorationTarget, name: str) -> None:
    run, message = BROKEN[name]
    problem = informer.run_once(run)
    assert problem is not None
    assert problem.kind is FindingKind.INVARIANT
    assert re.search(message, problem.summary), problem.summary


STOPS = {
    "during the list": program(Step(StepName.STOP)),
    "while the watch is connected": InformerProgram((), ((Step(StepName.CUT),), (Step(StepName.STOP),))),
}


@pytest.mark.parametrize("name", STOPS)
def test_a_stop_is_lost(informer: InformerExplorationTarget, name: str) -> None:
    result = explored(informer, STOPS[name])
    assert result.problem is not None
    assert result.problem.kind is FindingKind.DEADLOCK
    assert "in stop" in result.problem.summary
    assert result.counterexample is not None
    with informer.open_runner(STOPS[name]) as (runner, judge):
        _, problem, followed = replayed(runner, judge, result.counterexample.schedule)
    assert followed
    assert problem == result.problem


@pytest.mark.nightly
def test_a_global_lock_does_not_save_it() -> None:
    result = explored(InformerExplorationTarget(TARGET, OFFICIAL, Granularity.GIL), STOPS["during the list"])
    assert result.problem is not None
    assert result.problem.kind is FindingKind.DEADLOCK


class Told:
    """A handler that writes down what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._changed = threading.Condition()

    def _write(self, what: str, obj: dict) -> None:
        with self._changed:
            self.lines.append(f"{what} {obj['metadata']['name']}@{obj['metadata']['resourceVersion']}")
            self._changed.notify_all()

    def on_add(self, obj: dict, is_in_initial_list: bool) -> None:
        self._write("add", obj)

    def on_update(self, old: None, new: dict) -> None:
        self._write("update", new)

    def on_delete(self, obj: dict) -> None:
        self._write("delete", obj)

    def wait_for(self, line: str) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: line in self.lines, SECONDS)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    before = set(threading.enumerate())
    with quiet():
        made = FakeServer()
        yield made
        made.close()
    assert set(threading.enumerate()) <= before


def stop(target: OfficialInformer, server: FakeServer) -> None:
    """Stop it even if it loses the stop, as it does while its watch is being connected."""
    stopping = threading.Thread(target=target.stop)
    stopping.start()
    while stopping.is_alive():
        server.cut_watches()
        stopping.join(0.02)


def test_real_threads_lose_a_stop_while_the_watch_is_connected(server: FakeServer) -> None:
    target = official_informer(server)
    connecting, is_told = threading.Event(), threading.Event()

    def connect(request) -> None:
        if request.verb == WATCH:
            connecting.set()
            is_told.wait(SECONDS)

    server.before_request = connect
    target.start()
    assert connecting.wait(SECONDS)
    watch = target._informer._watch
    stop_of_watch = watch.stop

    def stop_and_tell() -> None:
        stop_of_watch()
        is_told.set()

    watch.stop = stop_and_tell
    stopping = threading.Thread(target=target.stop)
    stopping.start()
    assert server.wait_until_caught_up(1, SECONDS)
    stopping.join(0.3)
    assert stopping.is_alive()
    server.create("a")  # with the next event it stops
    stopping.join(SECONDS)
    assert not stopping.is_alive()


def test_it_asks_again_and_again_without_a_pause(server: FakeServer) -> None:
    """As a server that is too busy would be asked; a list is repeated after five seconds."""
    server.refuse_watches(500, ApiError(429, "TooManyRequests", "too many requests"))
    target = official_informer(server)
    target.start()
    assert server.wait_for_requests(501, SECONDS)  # with back-off it would take hours
    assert server.wait_until_caught_up(1, SECONDS)
    stop(target, server)


def test_a_function_whose_type_is_unknown_is_told_the_past_again(server: FakeServer) -> None:
    """A lambda around a method of the client, for example: how far the watch has got is not noted."""
    told = Told()
    call = _ListFunc(server).call
    target = OfficialInformer(server)
    target._informer = kubernetes.informer.SharedInformer(lambda **arguments: call(**arguments))
    target.add_event_handler(told)
    target.start()
    assert server.wait_until_caught_up(1, SECONDS)
    server.create("a")
    server.delete("a")
    assert told.wait_for("delete a@3")
    server.cut_watches()
    server.create("b")
    assert told.wait_for("add b@4")
    stop(target, server)
    assert told.lines == ["add a@2", "delete a@3"] * 2 + ["add b@4"]


def test_it_cannot_list_custom_objects(server: FakeServer) -> None:
    """``CustomObjectsApi`` returns a list as a dict, whose ``items`` is a method."""
    asked: list[dict] = []
    failed = threading.Event()

    def list_func(**arguments: object) -> object:
        asked.append(arguments)
        return {"items": [], "metadata": {"resourceVersion": "1"}}

    target = kubernetes.informer.SharedInformer(list_func)
    errors: list[Exception] = []
    target.add_event_handler(kubernetes.informer.ERROR, lambda error: (errors.append(error), failed.set()))
    target.start()
    assert failed.wait(SECONDS)
    target.stop()
    assert [str(error) for error in errors] == ["'builtin_function_or_method' object is not iterable"]
    assert asked == [{}]


def test_a_stop_is_lost_if_the_connection_is_the_last_of_its_kind() -> None:
    """After ``Connection: close``, the connection has given its socket away, and there is nothing to shut down."""
    with quiet(), HttpApiServer() as http:
        client = kubernetes.client.ApiClient(kubernetes.client.Configuration(host=http.url))
        target = kubernetes.informer.SharedInformer(kubernetes.client.CoreV1Api(client).list_pod_for_all_namespaces)
        connections, is_told = [], threading.Event()

        def added(_: object) -> None:
            connections.append(target._watch._resp.connection)
            is_told.set()

        target.add_event_handler(kubernetes.informer.ADDED, added)
        target.start()
        assert http.pods.wait_until_caught_up(1, SECONDS)
        http.pods.create("a")
        assert is_told.wait(SECONDS)
        assert [connection.sock for connection in connections] == [None]
        stopping = threading.Thread(target=target.stop)
        stopping.start()
        stopping.join(0.3)
        assert stopping.is_alive()
        while stopping.is_alive():
            http.cut_watches()
            stopping.join(0.02)
        client.rest_client.pool_manager.clear()


def test_one_handler_that_fails_keeps_no_other_from_being_told(server: FakeServer) -> None:
    target, told = official_informer(server), Told()
    target._informer.add_event_handler(kubernetes.informer.ADDED, lambda _: 1 / 0)
    target.add_event_handler(told)
    target.start()
    server.create("a")
    assert told.wait_for("add a@2")
    stop(target, server)


def test_it_cannot_be_stopped_by_a_handler(server: FakeServer, caplog: pytest.LogCaptureFixture) -> None:
    logging.disable(logging.NOTSET)
    target, told = official_informer(server), Told()
    target._informer.add_event_handler(kubernetes.informer.ADDED, lambda _: target.stop())
    target.add_event_handler(told)
    server.create("a")
    target.start()
    assert told.wait_for("add a@2")
    assert "cannot join current thread" in caplog.text
    stop(target, server)


def test_it_lacks_what_is_declared_as_missing() -> None:
    methods = {name for name in dir(kubernetes.informer.SharedInformer) if not name.startswith("_")}
    assert methods == {"add_event_handler", "cache", "remove_event_handler", "start", "stop"}
    assert set(UNSUPPORTED) == {
        "old_objects",
        "tombstones",
        "is_in_initial_list",
        "registration.has_synced",
        "add_indexers",
        "set_transform",
        "resync",
    }
