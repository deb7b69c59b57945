"""Replay tokens of programs on an Indexer. This module imports no part of the explorer."""

from __future__ import annotations

from typing import Final

from kcache_model.indexers.object_type import INDEXER_OBJECTS
from kcache_model.indexers.program import Program

from ..objects.findings import token_format
from ..target.replay_token import TokenFormat

PROGRAM_TOKENS: Final[TokenFormat[Program]] = token_format(INDEXER_OBJECTS)
"""The format of the tokens."""
