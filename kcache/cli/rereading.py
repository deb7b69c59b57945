"""A stream of lines that can be read again from its beginning, even if it is standard input."""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Self

from kcache_model.errors import FormatError

_LONGEST_LINE = 16 * 1024 * 1024
"""Characters."""


class Rereadable:
    """Keeps what was read of a stream in a temporary file; each call of it reads from the beginning.

    Args:
        stream: where new lines come from.
        kept: what was read; ``None`` if the stream itself can go back to its beginning.
    """

    def __init__(self, stream: IO[str], kept: IO[str] | None) -> None:
        self._stream = stream
        self._kept = kept

    @classmethod
    @contextmanager
    def opened(cls, file: str) -> Iterator[Self]:
        """Open a file, or standard input if it is ``-``.

        Raises:
            FormatError: what is read from it is no UTF-8.
            OSError: it cannot be opened.
        """
        try:
            if file == "-":
                # Whatever the locale says: recordings are in UTF-8.
                stream = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig")
                with _spool() as kept:
                    yield cls(stream, kept)
                stream.detach()
            else:
                with Path(file).open(encoding="utf-8-sig") as stream, _spool() as kept:
                    yield cls(stream, None if stream.seekable() else kept)
        except UnicodeDecodeError as error:
            raise FormatError(f"{file} is no text in UTF-8: {error}") from None

    def __call__(self) -> Iterator[str]:
        """The lines."""
        if self._kept is None:
            self._stream.seek(0)
            yield from _lines(self._stream)
            return
        self._kept.seek(0)
        yield from self._kept
        for line in _lines(self._stream):
            self._kept.write(line)
            yield line


def _lines(stream: IO[str]) -> Iterator[str]:
    number = 0
    while line := stream.readline(_LONGEST_LINE):
        number += 1
        if len(line) == _LONGEST_LINE and not line.endswith("\n"):
            raise FormatError(f"line {number} has more than {_LONGEST_LINE:,} characters")
        yield line


def _spool() -> IO[str]:
    return tempfile.TemporaryFile("w+", encoding="utf-8", errors="surrogateescape")
