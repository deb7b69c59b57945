"""conftest.py: where the fixtures stand that the tests of a folder share."""

from __future__ import annotations

from pathlib import Path

from ..import_paths import project_root


def conftests_of(location: str, file: Path) -> tuple[str | Path, ...]:
    """The ``conftest.py`` that a test module has, the nearest first: by names in its package, above that by files.

    Args:
        location: the name of the module, or the path of its file.
        file: where it lies.
    """
    packages = [] if location.endswith(".py") else location.split(".")[:-1]
    folders = list(file.resolve().parents)
    found = project_root(folders[0])
    root = 0 if found is None else folders.index(found)
    return tuple(
        ".".join([*packages[: len(packages) - at], "conftest"]) if at < len(packages) else folder / "conftest.py"
        for at, folder in enumerate(folders[: max(root, len(packages)) + 1])
        if (folder / "conftest.py").is_file()
    )
