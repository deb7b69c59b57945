"""Suspension of the garbage collector while virtual threads run, trees are built, or recordings are read.

Within an execution, finalizers and callbacks of the collector are events that no schedule contains. Trees and
recordings consist of thousands of objects that are all needed: if the collector scans them again and again, that takes
as long as building them.
"""

from gc import disable, enable, isenabled  # while controlled code runs, `gc` has replacements


class NoCollections:
    """Context manager that disables the garbage collector.

    It is entered in each execution, so it is a class: a generator function would take five times as long.
    """

    __slots__ = ("_collects",)

    def __enter__(self) -> None:
        self._collects = isenabled()
        disable()

    def __exit__(self, *_: object) -> None:
        if self._collects:
            enable()
