"""Loader of Indexers: from the name of a target to its factory, with its declarations."""

from __future__ import annotations

from kcache_model.indexers.target import Target, make_target

from ..loading import load_object


def load_target(spec: str) -> Target:
    """Return the target named ``pkg.mod:factory`` or ``path/to/file.py:factory``.

    The working directory, or the folder of the file, is added to the import path, as Python does for a script. The
    :mod:`import_paths` of the project are added as well, as pytest does for a test.

    Raises:
        TargetError: the object does not exist, or it cannot be a target; the message says what to do.
    """
    return make_target(load_object(spec), spec)  # type: ignore[arg-type]
