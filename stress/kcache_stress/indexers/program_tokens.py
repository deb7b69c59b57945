"""Replay tokens of programs on an Indexer; they need nothing of the explorer, whose findings carry them."""

from __future__ import annotations

from typing import Final

from kcache_model.indexers.codec import decode_program, encode_program
from kcache_model.indexers.program import Program

from ..target.replay_token import TokenFormat

PHASE: Final = "explorer"
"""What the explorer's findings say for their phase."""

PROGRAM_TOKENS: Final = TokenFormat[Program]("kx1.", encode_program, decode_program)
"""How the tokens are written."""
