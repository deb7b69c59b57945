"""Source signatures: fingerprints that change when source files change."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from kcache_model.foreign import own_attributes
from kcache_model.places import file_name, is_of_target


def fingerprint_of(sources: Mapping[str, bytes]) -> str:
    """Return eight hexadecimal digits that change when the name or text of a source (path -> text) changes."""
    digest = hashlib.sha256()
    for path, source in sorted(sources.items()):
        digest.update(Path(path).name.encode() + b"\0" + source + b"\0")
    return digest.hexdigest()[:8]


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
