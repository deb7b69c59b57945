"""Objects with stamps, which the harness passes to a target."""

from __future__ import annotations


class Stamped:
    """An object that its stamp identifies completely: code that reads a state need not inspect the object further.

    Attributes:
        stamp: the unique name of the object.
    """

    __slots__ = ()

    stamp: str

    def label(self) -> str:
        """Return the object as text."""
        return self.stamp
