"""Lines of a stream that can be read again from the beginning, even from standard input."""

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
"""The maximum length of a line, in characters."""


class ReplayableInput:
    """A stream whose lines are copied into a temporary file; each call of the object reads from the beginning.

    Args:
        stream: the source of new lines.
        copy: the file with the lines that were read; ``None`` if the stream is seekable.
    """

    def __init__(self, stream: IO[str], copy: IO[str] | None) -> None:
        self._stream = stream
        self._copy = copy

    @classmethod
    @contextmanager
    def opened(cls, file: str) -> Iterator[Self]:
        """Open a file, or standard input if it is ``-``.

        Raises:
            FormatError: the content is no UTF-8.
            OSError: the file cannot be opened.
        """
        try:
            if file == "-":
                # Recordings are in UTF-8, independent of the locale.
                stream = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig")
                with _spool() as copy:
                    yield cls(stream, copy)
                stream.detach()
            else:
                with Path(file).open(encoding="utf-8-sig") as stream, _spool() as copy:
                    yield cls(stream, None if stream.seekable() else copy)
        except UnicodeDecodeError as error:
            raise FormatError(f"{file} is not a text in UTF-8: {error}") from None

    def __call__(self) -> Iterator[str]:
        """Yield the lines from the beginning."""
        if self._copy is None:
            self._stream.seek(0)
            yield from _lines(self._stream)
            return
        self._copy.seek(0)
        yield from self._copy
        for line in _lines(self._stream):
            self._copy.write(line)
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
