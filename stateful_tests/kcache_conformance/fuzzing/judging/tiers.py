"""Which objects a store may really hold, and which only a mistake elsewhere could put there."""

from __future__ import annotations

import enum


class Tier(enum.StrEnum):
    """Where an object stands."""

    LEGAL = "legal"
    """The API server, the type or the schema allows it: a violation fails."""
    HOSTILE = "hostile"
    """Nobody promised that it works: a violation is a warning."""
