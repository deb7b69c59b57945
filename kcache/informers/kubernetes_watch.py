"""Events of a watch, read from an HTTP response of urllib3."""

from __future__ import annotations

import contextlib
import functools
import io
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from .api_errors import INTERNAL_ERROR, ApiError
from .kubernetes_json import json_parser
from .list_watch import BOOKMARK, ERROR, WatchEvent

_CHUNK_BYTES: Final = 2**16
_WITHOUT_MODEL: Final = (BOOKMARK, ERROR)


class KubernetesWatch:
    """The events in the body of a response; iterate once.

    A connection that is cut or silent for too long ends the iteration like one that was closed: whoever watches goes on
    from the last event.

    Args:
        response: the answer to a watch request, not read yet (``urllib3.HTTPResponse``).
        to_model: makes an object of a manifest; bookmarks and errors, which are incomplete or a ``Status``, stay as
            they are.
    """

    def __init__(self, response: Any, to_model: Callable[[Any], Any]) -> None:
        self._response = response
        self._to_model = to_model
        self._reading = threading.Lock()  # held by whoever reads
        self._is_stopped = False
        self._closing = threading.Lock()  # acquired, for good, by whoever closes

    def __iter__(self) -> Iterator[WatchEvent]:
        """The events, each as it arrives.

        Raises:
            ApiError: what arrived is no event (reason ``InternalError``, as in client-go).
            Exception: what ``to_model`` raises.
        """
        parsed = json_parser()
        for line in _lines(self._chunks()):
            if self._is_stopped:
                return
            try:
                event = parsed(line)
                kind, manifest = event["type"], event["object"]
            except (ValueError, KeyError, TypeError) as error:
                if not line.endswith(b"\n"):
                    return
                message = f"unable to decode an event from the watch stream: {error!r}"
                raise ApiError(INTERNAL_ERROR, "InternalError", message) from error
            yield WatchEvent(kind, manifest if kind in _WITHOUT_MODEL else self._to_model(manifest))

    def stop(self) -> None:
        """End the iteration at once, from whatever thread, and close the connection."""
        self._is_stopped = True
        # Closing waits for a thread that reads, so such a thread is woken instead, and closes by itself. One that has
        # not begun to read sees that it must not.
        if self._reading.locked():
            _shut_down(self._response)
        else:
            self._close()

    def _chunks(self) -> Iterator[bytes]:
        import urllib3.exceptions

        read = _reader(self._response)
        try:
            while chunk := self._unless_stopped(read):
                yield chunk
        except (urllib3.exceptions.ProtocolError, urllib3.exceptions.ReadTimeoutError):
            return
        except Exception:
            if not self._is_stopped:
                raise
        finally:
            self._close()

    def _unless_stopped(self, read: Callable[[], bytes]) -> bytes:
        with self._reading:
            return b"" if self._is_stopped else read()

    def _close(self) -> None:
        if self._closing.acquire(blocking=False):
            self._response.close()
            self._response.release_conn()


def _reader(response: Any) -> Callable[[], bytes]:
    """What reads what has arrived, or else what arrives next; nothing at the end."""
    if hasattr(response, "read1"):
        return functools.partial(response.read1, _CHUNK_BYTES, decode_content=True)
    # Before urllib3 2.1. The stream is kept: to drop it would close the response.
    return functools.partial(next, response.stream(_CHUNK_BYTES, decode_content=True), b"")


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines that are not blank, with their ends, which the last one may lack.

    They are bytes, for a chunk may end within a character.
    """
    parts: list[bytes] = []
    for chunk in chunks:
        for part in io.BytesIO(chunk):
            parts.append(part)
            if part.endswith(b"\n"):
                line = b"".join(parts)
                parts.clear()
                if not line.isspace():
                    yield line
    line = b"".join(parts)
    if line and not line.isspace():
        yield line


def _shut_down(response: Any) -> None:
    """Let a read in another thread return, as if the server had ended the response."""
    # Nothing is left to shut down once the last byte was read, and the reader may get there at any moment.
    with contextlib.suppress(ValueError, RuntimeError, OSError, AttributeError, TypeError):
        if hasattr(response, "shutdown"):
            response.shutdown()
        else:
            # Before urllib3 2.3. The connection gives its socket away if the response is its last one.
            connection_socket = getattr(response.connection, "sock", None) or response._fp.fp.raw._sock
            connection_socket.shutdown(socket.SHUT_RD)
