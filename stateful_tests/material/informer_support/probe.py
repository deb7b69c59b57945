"""What each recording was made with, in terms of the reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from kcache import KcacheError, meta_namespace_index_func
from kcache.informers import FakeClock, Registration, SharedIndexInformer

from .journal import Journal, Recorder, eventually
from .scripted_server import ScriptedServer, ScriptedWatch
from .threads import WATCHDOG_SECONDS


class Probe:
    """An informer, its server and its clock, as all recordings have them.

    Args:
        requests: where requests are written; with everything else by default.
        options: of the informer.
    """

    def __init__(self, requests: Journal | None = None, **options: Any) -> None:
        self.journal = Journal()
        self.server = ScriptedServer(requests or self.journal)
        self.clock = FakeClock()
        self.informer = SharedIndexInformer(
            self.server,
            options.pop("indexers", {"namespace": meta_namespace_index_func}),
            description="*v1.PartialObjectMetadata",
            clock=self.clock,
            **options,
        )

    def note(self, what: str, value: object = "") -> None:
        """Write a result; ``None`` as Go shows it."""
        self.journal.write(f"{what}{'<nil>' if value is None else value}")

    def note_error(self, what: str, function: Callable[..., object], *args: Any) -> None:
        """Write what a call returns or raises."""
        try:
            self.note(what, function(*args))
        except KcacheError as error:
            self.note(what, error)

    def add_handler(self, name: str, **options: Any) -> Registration:
        """Let a handler of this name write down what it is told."""
        return self.informer.add_event_handler(Recorder(self.journal, name), **options)

    def start(self) -> ScriptedWatch:
        """Run the informer until its first watch."""
        self.informer.start()
        return self.server.next_watch()

    def skip_back_off(self) -> None:
        """Let the next attempt come at once."""
        assert self.clock.wait_for_waiters(1, WATCHDOG_SECONDS)
        self.clock.step(2.0)

    def reaches(self, version: str) -> bool:
        """Whether the store comes to this resource version."""
        return eventually(lambda: store_version(self.informer) == version)


def store_version(informer: SharedIndexInformer) -> str:
    """The resource version of the informer's store."""
    version: str = cast(Any, informer.get_indexer()).last_sync_resource_version()
    return version
