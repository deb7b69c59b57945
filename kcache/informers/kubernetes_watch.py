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
    """The events in the body of a response; it can be iterated once.

    If the connection is cut or silent for too long, the iteration ends as if the connection was closed: the reflector
    resumes from the last event.

    Args:
        response: the unread answer to a watch request (``urllib3.HTTPResponse``).
        to_model: converts a manifest into an object. The manifests of bookmarks and errors, which are incomplete or a
            ``Status``, are not converted.
    """

    def __init__(self, response: Any, to_model: Callable[[Any], Any]) -> None:
        self._response = response
        self._to_model = to_model
        self._reading = threading.Lock()  # held by the thread that reads
        self._is_stopped = False
        self._closing = threading.Lock()  # acquired by the thread that closes, and never released

    def __iter__(self) -> Iterator[WatchEvent]:
        """Yield the events as they arrive.

        Raises:
            ApiError: a line is no event (reason ``InternalError``, as in client-go).
            Exception: any error that ``to_model`` raises.
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
        """End the iteration at once, and close the connection; any thread may call this."""
        self._is_stopped = True
        # Closing would wait for a thread that reads. So that thread is woken, and closes the connection itself. A
        # thread that has not begun to read checks `_is_stopped` first.
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
    """Return a function that reads the bytes that have arrived, or waits for some; at the end it returns ``b""``."""
    if hasattr(response, "read1"):
        return functools.partial(response.read1, _CHUNK_BYTES, decode_content=True)
    # Before urllib3 2.1. The function refers to the stream: when a stream is freed, it closes the response.
    return functools.partial(next, response.stream(_CHUNK_BYTES, decode_content=True), b"")


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines that are not blank, with their line ends; the last line may lack its end.

    Lines are bytes, because a chunk may end within a character.
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
    # The reader may read the last byte at any moment; after that there is nothing to shut down, hence the errors.
    with contextlib.suppress(ValueError, RuntimeError, OSError, AttributeError, TypeError):
        if hasattr(response, "shutdown"):
            response.shutdown()
        else:
            # Before urllib3 2.3. If the response is the connection's last, it owns the socket.
            connection_socket = getattr(response.connection, "sock", None) or response._fp.fp.raw._sock
            connection_socket.shutdown(socket.SHUT_RD)
