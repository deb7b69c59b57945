"""Entry of a child process: imports the harness from the parent's place, independent of the user's import path.

This file is run by its path, with the folders of the harness's packages as arguments (``NAME=FOLDER``). These folders
stay off the import path: an installed kcache lies in ``site-packages``, and ``site-packages`` before ``PYTHONPATH``
would import another version of the user's packages than ``python`` does.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


class HarnessFinder:
    """A finder of the top-level packages of the harness, and of nothing else.

    Args:
        folders: package -> the folder that contains it.
    """

    def __init__(self, folders: Mapping[str, str]) -> None:
        self._folders = folders

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,  # noqa: ARG002
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return the spec of a package of the harness; ``None`` for all other modules."""
        folder = self._folders.get(name)
        return None if folder is None else PathFinder.find_spec(name, [folder], target)


if __name__ == "__main__":
    sys.meta_path.insert(0, HarnessFinder(dict(argument.split("=", 1) for argument in sys.argv[1:])))
    del sys.argv[1:]

    from kcache_conformance.isolation.worker import main

    main()
