"""Models of the official ``kubernetes`` client, created from manifests."""

from __future__ import annotations

import functools
import inspect
import json
import types
from collections.abc import Callable
from typing import Any


def model_maker(api_client: Any, model: str) -> Callable[[Any], Any]:
    """Return a function from manifest to model; its results are equal to those of ``api_client.deserialize``.

    Args:
        api_client: the client's ``ApiClient``.
        model: the name of a model, such as ``V1Pod``.
    """
    import kubernetes.client

    if "content_type" not in inspect.signature(api_client.deserialize).parameters:
        # Clients before 37 take a response.
        return lambda manifest: api_client.deserialize(types.SimpleNamespace(data=json.dumps(manifest)), model)

    def deserialized(manifest: Any) -> Any:
        return api_client.deserialize(json.dumps(manifest), model, "application/json")

    validate = getattr(getattr(kubernetes.client, model), "model_validate", None)
    is_overridden = getattr(api_client.deserialize, "__func__", None) is not kubernetes.client.ApiClient.deserialize
    if is_overridden or validate is None:
        return deserialized
    return functools.partial(_validated, validate, deserialized)


def _validated(validate: Callable[..., Any], deserialized: Callable[[Any], Any], manifest: Any) -> Any:
    # ApiClient.deserialize copies the manifest level by level, and validates each level. One validation of the whole
    # manifest takes a third of the time. As in deserialize, fields that the client does not know are dropped.
    try:
        return validate(manifest, extra="ignore")
    except ValueError:
        return deserialized(manifest)
