"""An item whose process function raises is put back: it is handed out again although the contract says it is gone."""

from kcache.queues import DeltaFIFO


class RequeuedOnError(DeltaFIFO):
    """Tries again what failed."""

    def pop(self, process, /):
        def cautious(deltas, is_in_initial_list):
            try:
                process(deltas, is_in_initial_list)
            except Exception:
                for delta in deltas:
                    self._enqueue(delta.type, delta.object, self.key_of(delta.object))
                raise

        return super().pop(cautious)


new_queue = RequeuedOnError
