"""Tokens: programs and other plain data as short texts without spaces, to be pasted into a command line."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from .decoding import Json
from .errors import FormatError

_LARGEST = 10_000_000


def pack(prefix: str, data: Json) -> str:
    """Return ``prefix`` followed by the data as JSON, compressed and encoded in URL-safe base 64."""
    text = json.dumps(data, separators=(",", ":")).encode()
    return prefix + base64.urlsafe_b64encode(zlib.compress(text, 9)).decode().rstrip("=")


def unpack(prefix: str, word: str, name: str) -> Any:
    """Return the data that :func:`pack` encoded in ``word``; error messages call the word ``name``.

    Raises:
        FormatError: the word has another prefix, is damaged or cut off, or holds more than 10,000,000 bytes of JSON.
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
        if decompressor.unused_data:
            raise FormatError(f"the {name} has more characters than it should; copy nothing but it")
        return json.loads(text)
    except FormatError:
        raise
    except (ValueError, RecursionError, zlib.error) as error:
        raise FormatError(f"the {name} is damaged; copy all of it ({error})") from None
