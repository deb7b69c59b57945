"""The order of texts in a set is decided by the seed, and goes with the word that repeats a finding."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kcache_conformance.indexers.target_type import INDEXER
from kcache_conformance.runs.replays import replay_in_child, token_of_program
from kcache_conformance.runs.suite import SuiteOptions, run_suite
from kcache_model.blob import pack
from kcache_model.call_program import HASH_SEEDS, hash_seed, own_hash_seed
from kcache_model.errors import FormatError
from kcache_model.finding import Finding
from kcache_model.indexers import operations as op
from kcache_model.indexers.codec import decode_blob, encode_blob, encode_program
from kcache_model.indexers.program import Program
from kcache_model.rules import Contract

TARGET = """
import kcache
class Indexer:
    def __init__(self, key_func, indexers): self._indexer = kcache.new_indexer(key_func, indexers)
    def __getattr__(self, name): return getattr(self._indexer, name)
    def index_keys(self, name, value): return {} (set(self._indexer.index_keys(name, value)))
def new_indexer(key_func, indexers): return Indexer(key_func, indexers)
"""


@pytest.fixture
def target(tmp_path: Path) -> Callable[[str], str]:
    def write(order: str) -> str:
        file = tmp_path / f"{order}_keys.py"
        file.write_text(TARGET.replace("{}", order), encoding="utf-8")
        return f"{file}:new_indexer"

    return write


def smoke(spec: str, seed: int) -> tuple[Finding, ...]:
    return run_suite(spec, SuiteOptions(seed=seed, phases=("smoke",), contract=Contract.STRICT)).findings


def test_what_a_hash_seed_shows_is_shown_again(target: Callable[[str], str]) -> None:
    """The smoke test has two keys under one value: for some seeds a set gives them in order, for others not."""
    unsorted = target("list")
    finding = next(finding for seed in range(1, 20) for finding in smoke(unsorted, seed))
    assert finding.program is not None
    program = decode_blob(encode_blob(finding.program))
    assert program.hash_seed > 0
    for spec, wanted in ((unsorted, [finding.summary]), (target("sorted"), [])):
        word = token_of_program(INDEXER, spec, program, contract=Contract.STRICT)
        again = replay_in_child(INDEXER, word).finding
        assert [one.summary for one in (again,) if one is not None] == wanted
    assert smoke(unsorted, program.hash_seed) == (finding,)
    assert smoke(target("sorted"), program.hash_seed) == ()


def test_words_carry_the_hash_seed_and_those_without_one_are_read() -> None:
    plain = Program(("node",), (op.list_keys(),))
    assert "hash_seed" not in encode_program(plain)
    assert decode_blob(encode_blob(plain)) == plain
    for seed in (-1, HASH_SEEDS, True, "1", None):
        with pytest.raises(FormatError, match="hash_seed"):
            decode_blob(pack("kc1.", {**encode_program(plain), "hash_seed": seed}))


def test_every_seed_has_a_hash_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [hash_seed(seed) for seed in (0, 7, HASH_SEEDS + 7)] == [0, 7, 7]
    for text, own in (("7", 7), ("random", 0), ("", 0)):
        monkeypatch.setenv("PYTHONHASHSEED", text)
        assert own_hash_seed() == own
