"""The list methods of the official client, answered from memory: what both informers are given."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import kubernetes.client

from .pods import Manifest

if TYPE_CHECKING:
    from kubernetes.client import V1PodList


class RecordedApi:
    """Lists some pods, then a watch shows lines, one for each read, and stays open until it is closed.

    Args:
        objects: what is listed.
        lines: what the watch sends.
    """

    def __init__(self, objects: Sequence[Manifest], lines: Sequence[bytes]) -> None:
        self.api_client = kubernetes.client.ApiClient()
        version = objects[-1]["metadata"]["resourceVersion"]
        self._list = {"metadata": {"resourceVersion": version}, "items": list(objects)}
        self._lines = lines

    def list_pods(self, *, watch: bool = False, **_: Any) -> V1PodList:
        """As ``CoreV1Api`` does: models."""
        if watch:
            return Response(self._lines)
        return self.api_client.deserialize(json.dumps(self._list), "V1PodList", "application/json")

    def list_manifests(self, *, watch: bool = False, **_: Any) -> object:
        """As ``CustomObjectsApi`` does: manifests."""
        return Response(self._lines) if watch else self._list

    def list_manifests_as_object(self, **arguments: Any) -> object:
        """As the official informer needs it: it cannot use the dict that ``CustomObjectsApi`` returns for a list."""
        if arguments.get("watch"):
            return Response(self._lines)
        metadata = SimpleNamespace(resource_version=self._list["metadata"]["resourceVersion"])
        return SimpleNamespace(items=self._list["items"], metadata=metadata)


class Response:
    """The answer to a watch, as both clients read it from urllib3."""

    status = 200

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._lines = iter(lines)
        self._closed = threading.Event()
        self.connection = SimpleNamespace(sock=SimpleNamespace(shutdown=lambda _: self._closed.set()))

    def stream(self, amt: int | None = None, decode_content: bool | None = None) -> Iterator[bytes]:  # noqa: ARG002
        """What the official client reads."""
        yield from self._lines
        self._closed.wait()

    def read1(self, amt: int | None = None, decode_content: bool | None = None) -> bytes:  # noqa: ARG002
        """What kcache reads."""
        for line in self._lines:
            return line
        self._closed.wait()
        return b""

    def shutdown(self) -> None:
        self._closed.set()

    def close(self) -> None:
        self._closed.set()

    def release_conn(self) -> None: ...
