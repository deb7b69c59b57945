"""A replacement sends ``Sync`` even if ``Replaced`` was asked for: nobody can tell a relist from a resync.

kubernetes PR #86015.
"""

from kcache.queues import DeltaFIFO


class ReplacedAsSync(DeltaFIFO):
    """Knows one word only."""

    def __init__(self, key_func, *, known_objects=None, emit_delta_type_replaced=False, transformer=None):
        super().__init__(key_func, known_objects=known_objects, transformer=transformer)


new_queue = ReplacedAsSync
