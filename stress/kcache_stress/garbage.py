"""No garbage is collected while threads run, nor while trees are built or recordings are read.

Within an execution, finalizers and callbacks of the collector are events that no schedule knows of. Trees and
recordings are thousands of objects that are all needed: looking through them again and again takes as long as making
them.
"""

import gc


class NoCollections:
    """While this is entered, no garbage is collected.

    A class, for it is entered in each execution: a generator would take five times as long.
    """

    __slots__ = ("_collects",)

    def __enter__(self) -> None:
        self._collects = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._collects:
            gc.enable()
