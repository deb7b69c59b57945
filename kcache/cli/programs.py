"""Programs as arguments of commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kcache_conformance.targets.target_type import TargetType
from kcache_model.errors import FormatError


def read_program(text: str, target_type: TargetType) -> Any:
    """Read the program of a replay token (without its schedule), of a JSON file, or of a word of the target type.

    Raises:
        FormatError: ``text`` is none of these.
    """
    if text.startswith(target_type.tokens.prefix):
        return target_type.tokens.decode(text).program
    try:
        if Path(text).is_file():
            return target_type.codec.decode_program(json.loads(Path(text).read_text(encoding="utf-8")))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"{text} is not a JSON file: {error}") from None
    except OSError:  # a word may be longer than a file name may be
        pass
    if target_type.codec.decode_word is not None:
        return target_type.codec.decode_word(text)
    raise FormatError(f"{text[:40]} is neither a file nor a replay token that begins with {target_type.tokens.prefix}")
