"""Sample objects from files: YAML manifests or JSON."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .schema import SchemaError

_SUFFIXES = (".yaml", ".yml", ".json")


def read_samples(paths: Iterable[Path]) -> list[Any]:
    """Return the objects in files and folders; lists of objects are split into their items.

    Args:
        paths: files, or folders with files that end in ``.yaml``, ``.yml`` or ``.json``.

    Raises:
        SchemaError: a file is invalid, or contains no objects; the message names the file.
    """
    samples: list[Any] = []
    for path in paths:
        objects = [sample for file in _files(path) for sample in _objects(file)]
        if not objects:
            raise SchemaError(f"{path} contains no objects")
        samples += objects
    return samples


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.suffix.lower() in _SUFFIXES and file.is_file())
    if not path.exists():
        raise SchemaError(f"{path} does not exist")
    return [path]


def _objects(path: Path) -> Iterator[Any]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise SchemaError(f"{path} is not UTF-8: byte {error.start} cannot be decoded") from error
    except OSError as error:
        raise SchemaError(f"{path}: {error.strerror}") from error
    documents = _json(path, text) if path.suffix.lower() == ".json" else _yaml(path, text)
    for document in documents:
        try:
            yield from _unrolled(_plain(document, path))
        except RecursionError:
            raise SchemaError(f"{path} refers to itself, or is nested too deeply") from None


def _json(path: Path, text: str) -> list[Any]:
    if not text.strip():
        return []
    try:
        return [json.loads(text)]
    except json.JSONDecodeError as error:
        raise SchemaError(f"{path}:{error.lineno}: {error.msg}") from error


def _yaml(path: Path, text: str) -> list[Any]:
    import yaml

    class Loader(yaml.SafeLoader):
        """A YAML loader that keeps times as texts, as in JSON."""

    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    try:
        return list(yaml.load_all(text, Loader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        place = f"{path}:{mark.line + 1}" if mark is not None else str(path)
        what = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error).splitlines()[0]
        raise SchemaError(f"{place}: {what}") from error
    except (ValueError, RecursionError) as error:  # an invalid number, or too deep nesting
        raise SchemaError(f"{path}: {error}") from error


def _plain(value: Any, path: Path) -> Any:
    """Convert ``value`` into JSON: keys become texts."""
    if isinstance(value, dict):
        return {_key(key): _plain(inner, path) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner, path) for inner in value]
    if isinstance(value, bytes | set | datetime.date):
        raise SchemaError(f"{path} contains a {type(value).__name__}, which JSON does not have; write it as a string")
    return value


def _key(key: Any) -> str:
    return key if isinstance(key, str) else json.dumps(key, default=str)


def _unrolled(document: Any) -> Iterator[Any]:
    if document is None:
        return
    if isinstance(document, list):
        for one in document:
            yield from _unrolled(one)
    elif isinstance(document, dict) and str(document.get("kind", "")).endswith("List"):
        items = document.get("items")
        if not isinstance(items, list):
            yield document
            return
        for one in items:
            yield from _unrolled(one)
    else:
        yield document
