"""Signatures of sources, which tell whether they have changed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path


def fingerprint_of(sources: Mapping[str, bytes]) -> str:
    """Eight characters that change when one of the sources (path -> text) does."""
    digest = hashlib.sha256()
    for path, source in sorted(sources.items()):
        digest.update(Path(path).name.encode() + b"\0" + source + b"\0")
    return digest.hexdigest()[:8]


def digests_of(sources: Mapping[str, bytes]) -> frozenset[tuple[str, str]]:
    """(path, SHA-256 of its text) of each."""
    return frozenset((path, hashlib.sha256(source).hexdigest()) for path, source in sources.items())
