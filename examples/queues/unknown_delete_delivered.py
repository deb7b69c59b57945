"""The deletion of an object that is neither queued nor known is delivered: the consumer never heard of it."""

from kcache.queues import DeltaFIFO


class UnknownDeleteDelivered(DeltaFIFO):
    """Knows everything."""

    def _is_known(self, key):
        return True


new_queue = UnknownDeleteDelivered
