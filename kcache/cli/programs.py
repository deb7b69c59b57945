"""Programs as arguments."""

from __future__ import annotations

import json
from pathlib import Path

from kcache_model.blob import decode_blob
from kcache_model.codec import decode_program
from kcache_model.errors import FormatError
from kcache_model.program import Program
from kcache_stress.explorer.replay_token import PROGRAM_TOKENS


def read_program(text: str) -> Program:
    """The program of a word (of the explorer, too: its schedule is left aside) or of a file.

    Raises:
        FormatError: it is neither.
    """
    if text.startswith(PROGRAM_TOKENS.prefix):
        return PROGRAM_TOKENS.decode(text).program
    if not text.startswith("kc1.") and Path(text).is_file():
        try:
            return decode_program(json.loads(Path(text).read_text(encoding="utf-8")))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise FormatError(f"{text} is no JSON file: {error}") from None
    return decode_blob(text)
