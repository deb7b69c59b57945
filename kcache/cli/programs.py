"""Programs as arguments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kcache_conformance.indexers.target_type import INDEXER
from kcache_conformance.target_type import TargetType
from kcache_model.errors import FormatError
from kcache_model.indexers.codec import decode_blob


def read_program(text: str, target_type: TargetType = INDEXER) -> Any:
    """The program of a replay token (its schedule is left aside), of a file, or of a word for programs on Indexers.

    Raises:
        FormatError: it is none of these.
    """
    if text.startswith(target_type.tokens.prefix):
        return target_type.tokens.decode(text).program
    if not text.startswith("kc1.") and Path(text).is_file():
        try:
            return target_type.codec.decode_program(json.loads(Path(text).read_text(encoding="utf-8")))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise FormatError(f"{text} is no JSON file: {error}") from None
    if target_type is not INDEXER:
        raise FormatError(
            f"{text[:40]} is neither a file nor a replay token that begins with {target_type.tokens.prefix}"
        )
    return decode_blob(text)
