"""The adapters of the page on stores of other packages are short and compile; the packages are not needed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "third-party.md"
ADAPTERS = sorted(HERE.glob("*_store.py"))
MOST_STATEMENTS = 20


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda path: path.stem)
def test_an_adapter_is_short_and_on_the_page(adapter: Path) -> None:
    source = adapter.read_text(encoding="utf-8")
    statements = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    assert len(statements) <= MOST_STATEMENTS
    page = PAGE.read_text(encoding="utf-8")
    assert adapter.name in page
    assert "adapt(" in source


def test_there_are_adapters() -> None:
    assert len(ADAPTERS) >= 4
