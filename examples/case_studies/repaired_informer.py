"""``SharedInformer`` with a ``stop`` that looks at each field once."""

from __future__ import annotations

from kubernetes.informer.informer import SharedInformer


class RepairedInformer(SharedInformer):
    """What was seen is what is used."""

    def stop(self) -> None:
        """Ask the background watch loop to stop and join the thread."""
        self._stop_event.set()
        watch = self._watch
        if watch is not None:
            watch.stop()
        thread = self._thread
        if thread is not None:
            thread.join()
        self._thread = None
