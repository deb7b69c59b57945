"""Version and file of the code under test, which every verdict names."""

from __future__ import annotations

import platform
import queue
import sys
from pathlib import Path

import pytest

from kcache_stress.loading import load_object
from kcache_stress.modules.tested_code import describe_tested


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with two versions of a package: ``old`` without metadata, and ``site-packages``."""
    for place, version in (("old", "1.0"), ("site-packages", "2.0")):
        (tmp_path / place / "shadowed").mkdir(parents=True)
        (tmp_path / place / "shadowed/__init__.py").write_text(f'__version__ = "{version}"\nclass C: pass\n')
    metadata = tmp_path / "site-packages/shadowed-2.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: shadowed\nVersion: 2.0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("shadowed", "kcache_target_adapter", "provided"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def text_of(target: str, *path: Path) -> str:
    sys.path[:0] = map(str, path)
    load_object(target)
    return describe_tested(target)


def test_metadata_beside_the_package_gives_the_version(folder: Path) -> None:
    assert text_of("shadowed:C", folder / "site-packages") == "shadowed 2.0, site-packages/shadowed/__init__.py"


def test_metadata_of_a_package_that_another_one_shadows_is_not_taken_for_its_own(folder: Path) -> None:
    shadowing = text_of("shadowed:C", folder / "old", folder / "site-packages")
    assert shadowing == "shadowed 1.0, old/shadowed/__init__.py"


def test_a_distribution_of_another_name_is_found_by_what_it_provides(folder: Path) -> None:
    (folder / "site-packages/provided.py").write_text("class C: pass\n")
    metadata = folder / "site-packages/of_another_name-3.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: of-another-name\nVersion: 3.0\n")
    (metadata / "RECORD").write_text("provided.py,,\n")
    assert text_of("provided:C", folder / "site-packages") == "provided 3.0, site-packages/provided.py"


def test_a_file_is_named_with_the_packages_that_it_imports(folder: Path) -> None:
    (folder / "adapter.py").write_text("import threading\nimport shadowed\nfrom kcache import errors\nclass C: pass\n")
    text = text_of("adapter.py:C", folder / "old")
    assert text == "adapter.py; it imports shadowed 1.0, old/shadowed/__init__.py"


def test_the_standard_library_has_the_version_of_python(folder: Path) -> None:
    assert text_of("queue:Queue") == f"queue {platform.python_version()}, {queue.__file__}"
    assert text_of("itertools:count").startswith("itertools ")


def test_a_factory_without_a_name_is_described_by_its_module(folder: Path) -> None:
    sys.path.insert(0, str(folder / "old"))
    made_by = load_object("shadowed:C")
    assert callable(made_by)
    assert describe_tested(made_by) == "shadowed 1.0, old/shadowed/__init__.py"
