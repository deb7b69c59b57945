"""What tests of several modules share."""

from __future__ import annotations

import random
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kcache_model.history import Call
from kcache_model.indexers import operations
from kcache_model.indexers.indexer_model import IndexerModel
from kcache_model.indexers.items import Item
from kcache_model.indexers.program import History
from kcache_model.outcomes import returned

MakeHistory = Callable[..., History]
Write = Callable[[dict[str, str]], None]


def _history(count: int, threads: int = 3, seed: int = 0, wrong_from: int | None = None) -> History:
    """Calls of several threads that an order explains; the first read by key from ``wrong_from`` on is wrong."""
    choice = random.Random(seed)
    model = IndexerModel()
    state = model.initial(("node",))
    free = [0] * threads
    calls, now, is_wrong = [], 1000, False
    for number in range(count):
        thread = choice.randrange(threads)
        now = max(now, free[thread]) + choice.randint(1, 400)
        key, stamp = f"k{choice.randrange(6)}", f"v{number}"
        item = Item(key, stamp, {"node": (f"n{choice.randrange(3)}",)})
        writes = [operations.add(item), operations.update(item), operations.delete(Item(key, stamp))]
        reads = [operations.get_by_key(key), operations.list_keys(), operations.by_index("node", "n1")]
        operation = choice.choice(writes + reads)
        state, outcome = model.apply(state, operation)
        if wrong_from is not None and number >= wrong_from and operation is reads[0] and not is_wrong:
            outcome, is_wrong = returned("never"), True
        invoked = now - choice.randint(0, max(min(600, now - free[thread] - 1), 0))
        free[thread] = now + choice.randint(1, 500)
        calls.append(Call(thread, operation, invoked, free[thread], outcome))
        free[thread] += 1
    return History(("node",), tuple(sorted(calls, key=lambda call: call.invoked)))


@pytest.fixture(scope="session")
def make_history() -> MakeHistory:
    """Makes histories like those that a recorder makes."""
    return _history


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes modules, which can be imported from then on."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)

    def write_files(files: dict[str, str]) -> None:
        for name, text in files.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(text), encoding="utf-8")

    yield write_files
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]
