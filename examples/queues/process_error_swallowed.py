"""What the process function raises does not come out of ``pop``: nobody learns that the item was not applied."""

import contextlib

from kcache.queues import DeltaFIFO


class ProcessErrorSwallowed(DeltaFIFO):
    """Keeps trouble to itself."""

    def pop(self, process, /):
        def quiet(deltas, is_in_initial_list):
            with contextlib.suppress(Exception):
                process(deltas, is_in_initial_list)

        return super().pop(quiet)


new_queue = ProcessErrorSwallowed
