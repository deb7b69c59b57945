"""A server over HTTP in a process of its own: says its port, and for each watch changes its pods so often."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Server:
    """A server that runs.

    Attributes:
        url: what clients call the host.
        cut: ends all watches.
    """

    url: str
    cut: Callable[[], object]


@contextlib.contextmanager
def served(objects: int, events: int) -> Iterator[Server]:
    """A server; it ends with the ``with`` block."""
    command = [sys.executable, __file__, str(objects), str(events)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        requests = process.stdin

        def cut() -> None:
            requests.write("cut\n")
            requests.flush()

        try:
            yield Server(process.stdout.readline().strip(), cut)
        finally:
            process.stdin.close()
            process.wait(timeout=30)


def main(objects: int, events: int) -> None:
    """Serve until the input ends."""
    sys.path[:0] = [str(ROOT)]
    from benchmarks.informer.pods import listed, updates
    from kcache_conformance.informers.fake_server import FakeServer
    from kcache_conformance.informers.requests import WATCH, Request
    from stateful_tests.material.api_server import HttpApiServer

    pods = FakeServer("Pod")
    for obj in listed(objects):
        metadata = obj["metadata"]
        pods.create(metadata["name"], metadata["namespace"], labels=metadata["labels"], **obj["spec"])

    def before(request: Request) -> None:
        # The list has been answered: all that happens now is sent as fast as the client reads.
        if request.verb == WATCH:
            for obj in updates(objects, events):
                pods.update(obj["metadata"]["name"], obj["metadata"]["namespace"], nodeName=obj["spec"]["nodeName"])

    pods.before_request = before
    with HttpApiServer({"pods": pods}) as server:
        print(server.url, flush=True)
        for _ in sys.stdin:
            server.cut_watches()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
