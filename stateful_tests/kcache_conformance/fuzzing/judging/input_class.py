"""Classes of inputs: objects that a store may really hold, and those that only a mistake elsewhere could put there."""

from __future__ import annotations

import enum


class InputClass(enum.StrEnum):
    """The class of an object."""

    VALID = "legal"
    """The API server, the type or the schema allows it: a violation fails."""
    ADVERSARIAL = "hostile"
    """Nobody promised that it works: a violation is a warning."""
