"""A program as one short word that can be pasted into a command line."""

from __future__ import annotations

import base64
import binascii
import json
import zlib

from .codec import decode_program, encode_program
from .errors import FormatError
from .program import Program

_PREFIX = "kc1."
_LARGEST = 10_000_000


def encode_blob(program: Program) -> str:
    """``kc1.`` and the compressed JSON of the program in URL-safe base 64."""
    data = json.dumps(encode_program(program), separators=(",", ":")).encode()
    return _PREFIX + base64.urlsafe_b64encode(zlib.compress(data, 9)).decode().rstrip("=")


def decode_blob(blob: str) -> Program:
    """The inverse of :func:`encode_blob`.

    Raises:
        FormatError: the word is none of ours, or was cut off.
    """
    if not blob.startswith(_PREFIX):
        raise FormatError(f'a program word begins with "{_PREFIX}"')
    word = blob[len(_PREFIX) :]
    try:
        data = base64.b64decode(word + "=" * (-len(word) % 4), altchars=b"-_", validate=True)
        decompressor = zlib.decompressobj()
        text = decompressor.decompress(data, _LARGEST)
        if not decompressor.eof:
            raise FormatError("the program word is incomplete; copy all of it")
        return decode_program(json.loads(text))
    except (binascii.Error, zlib.error, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"the program word is damaged; copy all of it ({error})") from None
