"""docs/queues.md keeps its word: the example is found as told, names exist, and the contract is what is asked."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import kcache.queues
from kcache.cli import main
from kcache_conformance.queues.target import make_queue_target
from kcache_conformance.targets.gallery import queue_gallery
from kcache_conformance.targets.target_types import TARGET_TYPES
from kcache_model.queues.program import QueueKind

FOLDER = Path(__file__).parent
PAGE = (FOLDER / "queues.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.nightly
def test_the_example_is_found_as_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = (block for block in BLOCKS if "class Mailbox" in block)
    (tmp_path / "mailbox.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (command,) = re.findall(r"^\$ kcache (check .*Mailbox)$", PAGE, re.MULTILINE)
    # Stress comes last, but on a busy machine it may be first to find it.
    phases = [argument for phase in ("smoke", "recorded", "stateful", "explorer") for argument in ("--only", phase)]
    done = CliRunner().invoke(main, [*command.split(), *phases, "-x"])
    assert done.exit_code == 1
    assert "found by: explorer" in done.output
    assert done.output.count("queue.pop(process)  # gave") == 2
    (word,) = re.findall(r"kcache replay (kq1\.\S+)", done.output)
    assert CliRunner().invoke(main, ["replay", word]).exit_code == 1
    (tmp_path / "mailbox.py").write_text(code.partition("    def pop")[0], encoding="utf-8")
    assert CliRunner().invoke(main, ["replay", word]).exit_code == 0


@pytest.mark.parametrize("kind", QueueKind)
def test_the_reference_is_named(kind: QueueKind) -> None:
    assert f"| `{kind.value}` |" in PAGE
    assert f"`{TARGET_TYPES[kind.value].reference}`" in PAGE
    target = TARGET_TYPES[kind.value].load(TARGET_TYPES[kind.value].reference)
    assert not target.unsupported or kind is QueueKind.FIFO


def test_the_signatures_are_the_ones_asked_for() -> None:
    (signatures,) = (block for block in BLOCKS if block.startswith("def new_queue"))
    functions = re.findall(r"def new_queue.*?\.\.\..*?# ([a-z-]+)", signatures, re.DOTALL)
    assert functions == ["delta-fifo", "fifo", "real-fifo"]
    for text, kind in zip(re.split(r"(?=def new_queue)", signatures)[1:], functions, strict=True):
        scope: dict[str, object] = {}
        exec(text, scope)
        asked = inspect.signature(scope["new_queue"])  # type: ignore[arg-type]
        own = inspect.signature(kcache.queues.__dict__[TARGET_TYPES[kind].reference.partition(":")[2]])
        assert set(asked.parameters) <= set(own.parameters)
        factory = scope["new_queue"]
        with pytest.raises(Exception, match="has no add"):
            make_queue_target(factory, QueueKind(kind))  # type: ignore[arg-type]


def test_the_phases_and_the_gallery_are_described() -> None:
    for phase in TARGET_TYPES["delta-fifo"].phases:
        assert f"| `{phase}` |" in PAGE
    faulty = [example for example in queue_gallery() if not example.is_correct]
    assert f"has {len(faulty)} faulty queues" in PAGE
