"""Instrumented code that nobody listens to does the same as ever, and is heard again afterwards."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from kcache_stress.engine.granularity import REWRITTEN, Granularity
from kcache_stress.modules.roots import Roots
from kcache_stress.modules.sandbox import Sandbox

CODE = """
class Box:
    kind = "box"

    def __init__(self, *items, **named):
        self.items = [*items]
        self.named = {**named}

    def each(self):
        yield from self.items
        for name in self.named:
            yield name

    def total(self):
        self.items[0] += 1
        del self.items[-1]
        return sum(item for item in self.items if item in {2, 3}) + len([*map(abs, self.items)])


def everything():
    box = Box(*range(4), **{"a": 1})
    seen = {name: value for name, value in zip("xyz", box.each())}
    match list(box.each()):
        case [first, *_, last]:
            seen["ends"] = first, last
    setattr(box, "kind", "other")
    first, *rest = iter(box.items)
    vars(box)["late"] = rest if box.named and not first else None
    return box.total(), seen, box.kind, box.late, locals().keys(), max(*box.items, key=lambda item: -item)
"""


@pytest.mark.parametrize("granularity", REWRITTEN)
def test_it_does_the_same_unheard(tmp_path: Path, granularity: Granularity) -> None:
    file = tmp_path / "things.py"
    file.write_text(CODE, encoding="utf-8")
    sandbox = Sandbox(Roots(folder=tmp_path), granularity)
    module = sandbox.load(file)
    names = vars(module)["__builtins__"]
    before = dict(names)

    def fail_unheard() -> object:
        with sandbox.unheard():
            assert names != before
            given.append(module.everything())
            raise LookupError

    given: list[object] = []
    with pytest.raises(LookupError):
        fail_unheard()
    assert names == before
    assert list(map(str, given)) == [str(runpy.run_path(str(file))["everything"]())] == [str(module.everything())]
