"""Reads what a fake API server answers."""

import threading

from kcache.informers.list_watch import ListOptions

SECONDS = 10.0
"""Far more than anything waited for takes, even on a busy machine."""


def names(objects):
    """The names of objects, in their order."""
    return [manifest["metadata"]["name"] for manifest in objects]


def brief(event):
    """``ADDED a@2``: the type, the name and the resource version."""
    metadata = event.object["metadata"]
    return f"{event.type} {metadata.get('name', '')}@{metadata['resourceVersion']}"


def read(watch, count):
    """The next events, of which there must be enough already."""
    stream = iter(watch)
    return [brief(next(stream)) for _ in range(count)]


def read_all(watch):
    """The events of a watch that has been ended."""
    return [brief(event) for event in watch]


def watch_from(server, resource_version, **options):
    """Watch what comes after a resource version."""
    return server.watch(ListOptions(resource_version=resource_version, **options))


class Reader:
    """Reads a watch in a thread of its own until it ends."""

    def __init__(self, watch):
        self.events = []
        self.error = None
        self.watch = watch
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        try:
            for event in self.watch:
                self.events.append(event)
        except Exception as error:
            self.error = error

    def has_ended(self):
        """Whether the watch has ended, or ends soon."""
        self._thread.join(SECONDS)
        return not self._thread.is_alive()
