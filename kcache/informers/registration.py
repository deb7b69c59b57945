"""Registration of a handler with an informer."""

from __future__ import annotations

from dataclasses import dataclass

from .listener import ProcessorListener


@dataclass(frozen=True, eq=False)
class Registration:
    """A handler of an informer (client-go ``ResourceEventHandlerRegistration``).

    Attributes:
        listener: delivers notifications to the handler; for the informer's use only.
    """

    listener: ProcessorListener

    def has_synced(self) -> bool:
        """Whether the handler was called for all objects of the initial list."""
        return self.listener.has_synced()
