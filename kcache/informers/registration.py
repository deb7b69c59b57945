"""Registration of a handler with an informer."""

from __future__ import annotations

from dataclasses import dataclass

from .listener import ProcessorListener


@dataclass(frozen=True, eq=False)
class Registration:
    """A handler of an informer (client-go ``ResourceEventHandlerRegistration``).

    Attributes:
        listener: what hands notifications to the handler; the informer's own business.
    """

    listener: ProcessorListener

    def has_synced(self) -> bool:
        """Whether the handler was called for everything in the initial list."""
        return self.listener.has_synced()
