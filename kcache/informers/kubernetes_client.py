"""Lister and watcher that uses the official ``kubernetes`` client."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Mapping
from typing import Any, Final

from .kubernetes_errors import api_error
from .kubernetes_models import model_maker
from .kubernetes_watch import KubernetesWatch
from .list_watch import ListOptions, ObjectList

CONNECT_SECONDS: Final = 10
"""Timeout for the establishment of a connection."""

SILENCE_SECONDS: Final = 60
"""Timeout for each read of an answer; for a watch, it is added to the timeout of the watch."""

_RETURN_TYPE = re.compile(r":(?:rtype|return):\s*(\w+)")


def list_watch_from_client(
    list_func: Callable[..., Any],
    *,
    namespace: str | None = None,
    label_selector: str = "",
    field_selector: str = "",
    **fixed_arguments: Any,
) -> KubernetesListWatch:
    """Create a lister and watcher from a list method of the client (client-go ``NewFilteredListWatchFromClient``).

    The objects are the client's models, such as ``V1Pod``, and plain manifests with ``CustomObjectsApi``. Requests use
    the method's own client with all its settings. The client's ``configuration.retries`` repeat a request before an
    error is reported, and sleep for as long as a busy server asks for. Set them to ``False`` to leave retries to the
    reflector, which can be stopped while it waits.

    Args:
        list_func: a list method of an API object, such as ``CoreV1Api().list_namespaced_pod``.
        namespace: the namespace of the objects, if the method has such a parameter.
        label_selector: selects objects by label.
        field_selector: selects objects by field.
        fixed_arguments: are passed to each call, such as ``group``, ``version`` and ``plural`` of custom objects.

    Raises:
        ImportError: the client is not installed.
        TypeError: ``list_func`` is no method of an API object.
    """
    try:
        import kubernetes.client
    except ImportError as error:
        raise ImportError(
            "list_watch_from_client needs the official client: pip install 'kcache[kubernetes]'"
        ) from error
    api_client = getattr(getattr(list_func, "__self__", None), "api_client", None)
    if api_client is None:
        raise TypeError(
            f"{list_func!r} is not a method of an API object; pass a method such as CoreV1Api().list_namespaced_pod, "
            "and its other arguments by name"
        )
    arguments = {**fixed_arguments} if namespace is None else {**fixed_arguments, "namespace": namespace}
    item_type = _item_type(list_func, kubernetes.client)
    to_model = model_maker(api_client, item_type) if item_type else _unchanged
    return KubernetesListWatch(list_func, arguments, label_selector, field_selector, to_model)


class KubernetesListWatch:
    """A :class:`~.list_watch.ListerWatcher` for a method of the official client; see :func:`list_watch_from_client`."""

    def __init__(
        self,
        list_func: Callable[..., Any],
        arguments: Mapping[str, Any],
        label_selector: str,
        field_selector: str,
        to_model: Callable[[Any], Any],
    ) -> None:
        self._list_func = list_func
        self._arguments = arguments
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._to_model = to_model

    def list(self, options: ListOptions, /) -> ObjectList:
        """Return one page of objects.

        Raises:
            ApiError: the server rejected the request, or could not be reached.
        """
        page = self._call(options, {"_request_timeout": (CONNECT_SECONDS, SILENCE_SECONDS)})
        if isinstance(page, Mapping):
            metadata = page.get("metadata") or {}
            version, token = metadata.get("resourceVersion"), metadata.get("continue")
            return ObjectList(page.get("items") or (), version or "", token or "")
        return ObjectList(page.items or (), page.metadata.resource_version or "", page.metadata._continue or "")

    def watch(self, options: ListOptions, /) -> KubernetesWatch:
        """Watch the changes since ``options.resource_version``; raises the errors of :meth:`list`."""
        arguments: dict[str, Any] = {
            "watch": True,
            "allow_watch_bookmarks": options.allow_watch_bookmarks,
            "_preload_content": False,
        }
        if options.timeout_seconds is not None:
            # Without a timeout, the watch of a server that vanished without closing the connection would never end.
            arguments["_request_timeout"] = (CONNECT_SECONDS, options.timeout_seconds + SILENCE_SECONDS)
        return KubernetesWatch(self._call(options, arguments), self._to_model)

    def _call(self, options: ListOptions, arguments: Mapping[str, Any]) -> Any:
        asked = {
            "resource_version": options.resource_version,
            "limit": options.limit,
            "_continue": options.continue_token,
            "timeout_seconds": options.timeout_seconds,
            "label_selector": _both(self._label_selector, options.label_selector),
            "field_selector": _both(self._field_selector, options.field_selector),
        }
        given = {name: value for name, value in asked.items() if value}
        try:
            return self._list_func(**{**arguments, **given, **self._arguments})
        except Exception as error:
            translated = api_error(error)
            if translated is error:
                raise
            raise translated from error


def _both(selector: str, other: str) -> str:
    """Join two selectors: terms that are joined by a comma must all hold."""
    return ",".join(filter(None, (selector, other)))


def _item_type(list_func: Callable[..., Any], client: types.ModuleType) -> str:
    """Return the model name of a list method's items, such as ``V1Pod`` for a ``V1PodList``; ``""`` if none."""
    annotation = inspect.signature(list_func).return_annotation
    # Clients before 37 declare the type only in the docstring.
    documented = _RETURN_TYPE.search(inspect.getdoc(list_func) or "")
    list_type = annotation.__name__ if inspect.isclass(annotation) else str(annotation)
    for name in (list_type, documented[1] if documented else ""):
        if name.endswith("List") and hasattr(client, name.removesuffix("List")):
            return name.removesuffix("List")
    return ""


def _unchanged(manifest: Any) -> Any:
    return manifest
