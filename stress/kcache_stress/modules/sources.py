"""Source signatures: fingerprints that change when source files change."""

from __future__ import annotations

import hashlib
import logging
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from kcache_model.foreign import own_attributes
from kcache_model.places import file_name, is_of_target

_OF_DEATHS: Final = (b"__del__", b"weakref", b"Handler", b"logging.config")
"""Words in sources with code that runs when an object dies, or with handlers of ``logging``."""


def fingerprint_of(sources: Mapping[str, bytes]) -> str:
    """Return eight hexadecimal digits that change when the name or text of a source (path -> text) changes."""
    digest = hashlib.sha256()
    for path, source in sorted(sources.items()):
        digest.update(Path(path).name.encode() + b"\0" + source + b"\0")
    return digest.hexdigest()[:8]


def observes_deaths(source: bytes, path: str) -> bool:
    """Whether a source may contain code that runs when an object dies, judged by its words.

    ``logging`` observes nothing but the deaths of handlers: it matters only to code that handles these itself.
    """
    return path != logging.__file__ and any(word in source for word in _OF_DEATHS)


def digests_of(sources: Mapping[str, bytes]) -> frozenset[tuple[str, str]]:
    """Return ``(path, SHA-256 of the text)`` for each source (path -> text)."""
    return frozenset((path, hashlib.sha256(source).hexdigest()) for path, source in sources.items())


def fingerprint_of_digests(sources: Iterable[tuple[str, str]]) -> str:
    """Return the SHA-256 of the file names and digests: it does not depend on the folder that contains the files."""
    named = sorted({f"{digest}  {file_name(path)}\n" for path, digest in sources})
    return hashlib.sha256("".join(named).encode()).hexdigest()


def loaded_modules() -> Mapping[str, bytes]:
    """Return path -> text of the user's modules that this process has loaded, without installed packages."""
    named = (own_attributes(module).get("__file__") for module in list(sys.modules.values()))
    files = {Path(file) for file in named if isinstance(file, str)}
    return {
        str(file): file.read_bytes()
        for file in files
        if file.suffix == ".py" and "site-packages" not in file.parts and is_of_target(str(file)) and file.is_file()
    }
