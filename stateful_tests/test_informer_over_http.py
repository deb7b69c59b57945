"""An informer with the official client follows an API server over real connections, however they break."""

import contextlib
import random
import threading
import time

import pytest

from kcache.informers.clock import RealClock
from kcache.informers.handlers import ResourceEventHandlerFuncs
from kcache.informers.kubernetes_client import list_watch_from_client
from kcache.informers.shared_informer import SharedIndexInformer
from kcache_conformance.informers.fake_server import FakeServer
from kcache_conformance.informers.requests import LIST, WATCH
from stateful_tests.material.api_server import Cut, HttpApiServer
from stateful_tests.material.informer_support.threads import threads_since

client = pytest.importorskip("kubernetes.client")

SECONDS = 30.0
CUTS = [Cut(within_line, reset) for within_line in (False, True) for reset in (False, True)]


class HurriedClock(RealClock):
    """Time passes a hundred times as fast: back-off is short."""

    def now(self):
        return time.monotonic() * 100

    def wait(self, stop, seconds):
        return stop.wait(max(0.0, seconds) / 100)


class Follower:
    """An informer, and what a handler was told of."""

    def __init__(self, server, namespace=None, **selectors):
        self.server = server
        configuration = client.Configuration(host=server.url)
        configuration.retries = False
        self._client = client.ApiClient(configuration)
        api = client.CoreV1Api(self._client)
        list_func = api.list_namespaced_pod if namespace else api.list_pod_for_all_namespaces
        self.informer = SharedIndexInformer(
            list_watch_from_client(list_func, namespace=namespace, **selectors),
            {"app": lambda pod: [(pod.metadata.labels or {}).get("app", "none")]},
            clock=HurriedClock(),
            random=random.Random(0),
        )
        self.told = {}
        self.deletions = []
        self._changed = threading.Condition()
        self.informer.add_event_handler(
            ResourceEventHandlerFuncs(self._stored, lambda old, new: self._stored(new), self._deleted)
        )

    def __enter__(self):
        self.informer.start()
        return self

    def __exit__(self, *_):
        self.informer.stop()
        self._client.rest_client.pool_manager.clear()
        self._client.close()

    def _stored(self, pod):
        with self._changed:
            self.told[f"{pod.metadata.namespace}/{pod.metadata.name}"] = version(pod)
            self._changed.notify_all()

    def _deleted(self, pod):
        with self._changed:
            self.deletions.append(pod)
            pod = getattr(pod, "obj", pod)
            self.told.pop(f"{pod.metadata.namespace}/{pod.metadata.name}", None)
            self._changed.notify_all()

    def cached(self):
        indexer = self.informer.get_indexer()
        return {key: version(indexer.get_by_key(key)) for key in indexer.list_keys()}

    def shows(self, truth):
        """Wait until the cache and the handler know what the server does; whether they do."""
        expected = truth_of(truth)
        with self._changed:
            return self._changed.wait_for(lambda: self.told == expected == self.cached(), SECONDS)


def version(pod):
    return pod.metadata.uid, pod.metadata.resource_version


def truth_of(server):
    return {
        key: (manifest["metadata"]["uid"], manifest["metadata"]["resourceVersion"])
        for key, manifest in server.snapshot().items()
    }


def verbs(server):
    return [request.verb for request in server.requests]


@pytest.fixture
def server():
    before = threading.enumerate()
    with HttpApiServer() as made:
        yield made
    assert threads_since(before) == []


def test_it_follows(server):
    pods = server.pods
    pods.create("a", labels={"app": "web"})
    pods.create("b", namespace="other")
    with Follower(server) as follower:
        assert follower.shows(pods)
        pods.update("a", labels={"app": "db"})
        pods.delete("b", namespace="other")
        pods.create("b", namespace="other")
        assert follower.shows(pods)
        assert [pod.metadata.name for pod in follower.informer.get_indexer().by_index("app", "db")] == ["a"]
        assert verbs(pods) == [LIST, WATCH]
        assert pods.wait_for_watchers(1, SECONDS)
    assert pods.wait_for_watchers(0, SECONDS)


def test_it_follows_one_namespace_and_some_labels(server):
    pods = server.pods
    pods.create("a", "mine", labels={"app": "web"})
    pods.create("b", "mine")
    pods.create("c", "other", labels={"app": "web"})
    with Follower(server, namespace="mine", label_selector="app=web") as follower:
        pods.update("b", "mine", labels={"app": "web"})
        pods.update("a", "mine", labels={"app": "db"})
        pods.delete("c", "other")
        expected = {"mine/b"}
        with follower._changed:
            assert follower._changed.wait_for(lambda: set(follower.told) == expected, SECONDS)
        assert set(follower.cached()) == expected


def test_it_lists_in_pages():
    pods = FakeServer("Pod", default_spec={"containers": []}, cache_pages=True)
    for number in range(1_100):
        pods.create(f"p{number}")
    with HttpApiServer({"pods": pods}) as server, Follower(server) as follower:
        assert follower.shows(pods)
        assert verbs(pods)[:3] == [LIST] * 3


@pytest.mark.parametrize("cut", CUTS)
def test_it_goes_on_where_a_connection_was_cut(server, cut):
    pods = server.pods
    with Follower(server) as follower:
        # A watch that ends before it has shown anything is not gone on with.
        assert pods.wait_for_watchers(1, SECONDS)
        pods.create("a")
        assert follower.shows(pods)
        server.cut_watches(cut)
        pods.create("b")
        pods.delete("a")
        assert follower.shows(pods)
        assert verbs(pods) == [LIST, WATCH, WATCH]


@pytest.mark.parametrize("cut", CUTS)
def test_an_event_that_was_cut_comes_again(server, cut):
    pods = server.pods
    with Follower(server) as follower:
        pods.create("a")
        assert follower.shows(pods)
        server.cut_next_event(cut)
        pods.update("a", labels={"app": "web"})
        assert follower.shows(pods)


@pytest.mark.parametrize("cut", CUTS)
def test_a_list_that_was_cut_is_repeated(server, cut):
    server.pods.create("a")
    server.cut_next_list(cut)
    with Follower(server) as follower:
        assert follower.shows(server.pods)
        assert verbs(server.pods)[:2] == [LIST, LIST]


@pytest.mark.parametrize("in_stream", [True, False])
def test_it_lists_again_what_a_watch_cannot_tell_any_more(server, in_stream):
    pods = server.pods
    pods.expires_in_stream = in_stream
    pods.create("a")
    pods.create("gone")
    with Follower(server) as follower:
        assert follower.shows(pods)
        assert pods.wait_for_watchers(1, SECONDS)
        with pods.lose_events():
            pods.delete("gone")
            pods.delete("a")
            pods.create("a")
        pods.compact()
        pods.cut_watches()
        assert follower.shows(pods)
        assert [type(deleted).__name__ for deleted in follower.deletions] == ["DeletedFinalStateUnknown"]


def test_it_waits_for_a_server_that_is_down():
    pods = FakeServer("Pod", default_spec={"containers": []})
    pods.create("a")
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(HttpApiServer({"pods": pods}))
        follower = stack.enter_context(Follower(first))
        assert follower.shows(pods)
        first.close()
        pods.create("b")
        pods.delete("a")
        stack.enter_context(HttpApiServer({"pods": pods}, port=first.port))
        assert follower.shows(pods)


def test_it_can_be_stopped_while_a_server_is_down():
    with HttpApiServer() as server, Follower(server) as follower:
        assert follower.informer.wait_for_cache_sync(SECONDS * 100)
        server.close()
    assert follower.informer.is_stopped()


@pytest.mark.parametrize("seed", range(3))
def test_it_survives_connections_that_break_at_random(seed):
    choice = random.Random(seed)
    with HttpApiServer(chunk_bytes=choice.choice([0, 1, 7])) as server:
        pods = server.pods
        server.cut_at_random(0.2, seed)
        with Follower(server) as follower:
            for number in range(200):
                name = f"p{choice.randrange(8)}"
                if f"default/{name}" not in pods.snapshot():
                    pods.create(name, labels={"app": "日本"})
                elif choice.random() < 0.3:
                    pods.delete(name)
                else:
                    pods.update(name, value=number)
                if choice.random() < 0.02:
                    pods.compact()
                if choice.random() < 0.05:
                    server.cut_watches(choice.choice(CUTS))
            # The last events break off, too, until the watch has got past them.
            assert follower.shows(pods)
