"""Objects that the harness gives to a target."""

from __future__ import annotations


class Stamped:
    """An object by whose stamp all is known of it: whoever reads a state needs to look no further.

    Attributes:
        stamp: names the object; no two share one.
    """

    __slots__ = ()

    stamp: str

    def told(self) -> str:
        """The object in a text."""
        return self.stamp
