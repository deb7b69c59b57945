"""Recordings of other tools: EDN as Jepsen, Knossos, Elle and Porcupine use it, and logs of Jepsen."""

from __future__ import annotations

from .edn import edn_events
from .foreign_calls import ForeignCall, ForeignEvent, calls_of
from .jepsen_text import text_events
from .reading import ForeignFormat, format_of, read_foreign

__all__ = [
    "ForeignCall",
    "ForeignEvent",
    "ForeignFormat",
    "calls_of",
    "edn_events",
    "format_of",
    "read_foreign",
    "text_events",
]
