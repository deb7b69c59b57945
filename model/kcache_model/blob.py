"""A program, or other plain data, as one short word that can be pasted into a command line."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from .decoding import Json
from .errors import FormatError

_LARGEST = 10_000_000


def pack(prefix: str, data: Json) -> str:
    """``prefix`` and plain data as JSON, compressed, in URL-safe base 64."""
    text = json.dumps(data, separators=(",", ":")).encode()
    return prefix + base64.urlsafe_b64encode(zlib.compress(text, 9)).decode().rstrip("=")


def unpack(prefix: str, word: str, name: str) -> Any:
    """The inverse of :func:`pack`; ``name`` is what messages call the word.

    Raises:
        FormatError: the word has another prefix, is damaged, or was cut off.
    """
    if not word.startswith(prefix):
        raise FormatError(f'a {name} begins with "{prefix}"')
    body = word[len(prefix) :]
    try:
        packed = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
        decompressor = zlib.decompressobj()
        text = decompressor.decompress(packed, _LARGEST)
        if not decompressor.eof:
            raise FormatError(f"the {name} is incomplete; copy all of it")
        return json.loads(text)
    except FormatError:
        raise
    except (ValueError, RecursionError, zlib.error) as error:
        raise FormatError(f"the {name} is damaged; copy all of it ({error})") from None
