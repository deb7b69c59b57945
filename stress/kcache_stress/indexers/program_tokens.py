"""Replay tokens of programs on an Indexer. They are independent of the runner; the explorer's findings have them."""

from __future__ import annotations

from typing import Final

from kcache_model.indexers.codec import decode_program, encode_program
from kcache_model.indexers.program import Program

from ..target.replay_token import TokenFormat

PHASE: Final = "explorer"
"""The phase of the explorer's findings."""

PROGRAM_TOKENS: Final = TokenFormat[Program]("kx1.", encode_program, decode_program)
"""The format of the tokens."""
