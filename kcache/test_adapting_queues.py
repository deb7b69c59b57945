"""Queues of other shapes, through adapters, and what queues may declare to do otherwise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcache import KeyFuncError
from kcache.queues import FIFO, DeltaFIFO
from kcache.testing import ConformanceError, SuiteResult, adapt_queue, run_conformance

BOX = '''
import threading
from collections import OrderedDict
from kcache.adapting_queues import adapt_queue


class Box:
    """The newest object of each key, under names of its own."""

    def __init__(self, keyFunc):
        self._key_func, self._changed, self._things = keyFunc, threading.Condition(), OrderedDict()
        self._is_shut = False

    def put(self, thing):
        key = self._key_func(thing)
        with self._changed:
            self._things[key] = thing
            self._changed.notify()

    def remove(self, thing):
        key = self._key_func(thing)
        with self._changed:
            if key in self._things:
                self._things[key] = None

    def reset(self, things, version=""):
        things = {self._key_func(thing): thing for thing in things}
        with self._changed:
            self._things = OrderedDict(things)
            self._changed.notify_all()

    def take(self, process):
        with self._changed:
            while True:
                while not self._things:
                    if self._is_shut:
                        raise EOFError("the box is shut")
                    self._changed.wait()
                key, thing = self._things.popitem(last=False)
                if thing is not None:
                    process(thing)
                    return

    def shutdown(self):
        with self._changed:
            self._is_shut = True
            self._changed.notify_all()


class WokenOnce(Box):
    """A shutdown wakes one of those that wait."""

    def shutdown(self):
        with self._changed:
            self._is_shut = True
            self._changed.notify()


OTHERWISE = ["initial_list", "pop_result", "has_synced", "is_closed", "resync"]
right = adapt_queue(Box, pop="take", unsupported=OTHERWISE)
wrong = adapt_queue(WokenOnce, pop="take", unsupported=OTHERWISE)
'''


@pytest.fixture
def boxes(tmp_path: Path) -> Path:
    file = tmp_path / "boxes.py"
    file.write_text(BOX, encoding="utf-8")
    return file


def conforms(factory: Any, *phases: str, kind: str = "fifo") -> SuiteResult:
    chosen = phases or ("smoke", "stateful")
    return run_conformance(factory, type=kind, phases=chosen, seconds=0.6, most_findings=1)


class TestAdapters:
    def test_a_queue_of_another_shape_passes(self, boxes: Path) -> None:
        result = run_conformance(f"{boxes}:right", type="fifo", seconds=6.0, most_findings=1)
        explorer = next(phase for phase in result.phases if phase.phase == "explorer")
        assert explorer.counts["exhausted"] > 0

    def test_the_explorer_finds_a_lost_wakeup_in_it(self, boxes: Path) -> None:
        with pytest.raises(ConformanceError, match="DEADLOCK"):
            run_conformance(f"{boxes}:wrong", type="fifo", phases=("explorer",), seconds=60.0, most_findings=1)

    def test_what_it_lacks_is_declared(self) -> None:
        class Small:
            def __init__(self, key_func: Callable[[Any], str]) -> None:
                inner = FIFO(key_func)
                self.put, self.remove, self.reset = inner.add, inner.delete, inner.replace
                self.consume, self.stop = inner.pop, inner.close

        factory = adapt_queue(Small)
        assert {"resync", "is_closed", "has_synced", "len", "known_objects"} <= set(factory.kcache_unsupported)
        conforms(factory)

    def test_options_are_passed_under_the_names_that_they_have(self) -> None:
        class Camel:
            def __init__(self, keyFunc: Any, *, knownObjects: Any = None, convert: Any = None) -> None:  # noqa: N803
                inner = DeltaFIFO(keyFunc, known_objects=knownObjects, transformer=convert)
                self.onAdd, self.onUpdate, self.onDelete = inner.add, inner.update, inner.delete
                self.Replace, self.Resync, self.Pop, self.Close = inner.replace, inner.resync, inner.pop, inner.close
                self.IsClosed, self.HasSynced = inner.is_closed, inner.has_synced

        factory = adapt_queue(Camel, options={"transformer": "convert"})
        assert "known_objects" not in factory.kcache_unsupported
        assert "emit_delta_type_replaced" in factory.kcache_unsupported
        conforms(factory, kind="delta-fifo")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"unsupported": "resync"}, "must be a list of names"),
            ({"pops": "take"}, "unknown operation or option pops"),
            ({"pop": "take"}, "has no method take for pop"),
        ],
    )
    def test_faulty_arguments(self, arguments: Any, message: str) -> None:
        with pytest.raises(TypeError, match=message):
            adapt_queue(FIFO, **arguments)(str)

    def test_a_method_that_is_not_known(self) -> None:
        with pytest.raises(
            TypeError, match=r"dict has no known method for add; name its method: adapt_queue\(\.\.\., add"
        ):
            adapt_queue(dict)(str)


class NeverInitial(FIFO):
    def pop(self, process: Any, /) -> Any:
        return super().pop(lambda item, _: process(item, False))


class WrapsErrors(FIFO):
    def pop(self, process: Any, /) -> Any:
        try:
            return super().pop(process)
        except LookupError:
            raise
        except Exception as error:
            raise error if "closed" in str(error).lower() else RuntimeError("processing failed") from error


class SwallowsErrors(FIFO):
    def pop(self, process: Any, /) -> Any:
        taken = []

        def quiet(item: Any, first: bool) -> None:
            taken.append(item)
            try:
                process(item, first)
            except Exception:
                return

        return super().pop(quiet)


class ReturnsNothing(FIFO):
    def pop(self, process: Any, /) -> Any:
        super().pop(process)


class RefusesAfterClose(FIFO):
    def add(self, obj: Any, /) -> None:
        self._refuse()
        super().add(obj)

    def update(self, obj: Any, /) -> None:
        self._refuse()
        super().update(obj)

    def delete(self, obj: Any, /) -> None:
        self._refuse()
        super().delete(obj)

    def replace(self, objs: Any, resource_version: str = "", /) -> None:
        self._refuse()
        super().replace(objs, resource_version)

    def resync(self) -> None:
        self._refuse()

    def _refuse(self) -> None:
        if self.is_closed():
            raise RuntimeError("it is closed")


class IgnoresAfterClose(FIFO):
    def add(self, obj: Any, /) -> None:
        if not self.is_closed():
            super().add(obj)


class IgnoresKeyless(FIFO):
    def add(self, obj: Any, /) -> None:
        try:
            super().add(obj)
        except KeyFuncError:
            return


DEVIATIONS = {
    "initial_list": NeverInitial,
    "process_errors": WrapsErrors,
    "pop_result": ReturnsNothing,
    "writes_after_close": RefusesAfterClose,
    "failing_key_functions": IgnoresKeyless,
}


def declared(kind: Any, *names: str) -> Any:
    made = type(kind.__name__, (kind,), {"kcache_unsupported": list(names)})
    made.__qualname__ = f"local.{kind.__name__}"
    return made


class TestDeclarations:
    @pytest.mark.parametrize(("name", "kind"), DEVIATIONS.items(), ids=DEVIATIONS)
    def test_a_deviation_is_a_finding_unless_it_is_declared(self, name: str, kind: Any) -> None:
        with pytest.raises(ConformanceError):
            conforms(kind, "smoke", "recorded", "stateful")
        conforms(declared(kind, name), "smoke", "recorded", "stateful")

    @pytest.mark.parametrize(
        ("name", "kind"), [("process_errors", SwallowsErrors), ("writes_after_close", IgnoresAfterClose)]
    )
    def test_other_forms_of_it(self, name: str, kind: Any) -> None:
        conforms(declared(kind, name), "smoke", "recorded", "stateful")

    def test_declared_deviations_hide_nothing_else(self) -> None:
        class Oldest(NeverInitial):
            """Keeps the oldest object of each key in place of the newest."""

            def update(self, obj: Any, /) -> None:
                if self.key_of(obj) not in self._items:
                    super().update(obj)

        with pytest.raises(ConformanceError) as caught:
            conforms(declared(Oldest, *DEVIATIONS), "smoke", "recorded", "stateful")
        assert "update" in str(caught.value)

    def test_they_may_be_given_to_the_run(self) -> None:
        run_conformance(
            NeverInitial, type="fifo", phases=("smoke", "stateful"), seconds=0.5, unsupported=["initial_list"]
        )

    def test_an_unknown_one_is_refused(self) -> None:
        with pytest.raises(Exception, match="kcache_unsupported names typo; known are:"):
            conforms(declared(FIFO, "typo"))


ASYNC_BOX = '''
import asyncio
from collections import OrderedDict
from kcache.adapting_queues import adapt_queue


class Box:
    """The newest object of each key; its methods are awaited."""

    def __init__(self, keyFunc):
        self._key_func, self._changed, self._things = keyFunc, asyncio.Condition(), OrderedDict()
        self._is_shut = False

    async def put(self, thing):
        key = self._key_func(thing)
        async with self._changed:
            self._things[key] = thing
            self._changed.notify()

    async def remove(self, thing):
        key = self._key_func(thing)
        async with self._changed:
            if key in self._things:
                self._things[key] = None

    async def reset(self, things, version=""):
        things = {self._key_func(thing): thing for thing in things}
        async with self._changed:
            self._things = OrderedDict(things)
            self._changed.notify_all()

    async def take(self, process):
        async with self._changed:
            while True:
                while not self._things:
                    if self._is_shut:
                        raise EOFError("the box is shut")
                    await self._changed.wait()
                key, thing = self._things.popitem(last=False)
                if thing is not None:
                    process(thing)
                    return

    async def shutdown(self):
        async with self._changed:
            self._is_shut = True
            self._changed.notify_all()


class Hasty(Box):
    """Two that take may look at the same thing."""

    async def take(self, process):
        async with self._changed:
            await self._changed.wait_for(lambda: self._things or self._is_shut)
        if not self._things:
            raise EOFError("the box is shut")
        thing = next(iter(self._things.values()))
        await asyncio.sleep(0)
        self._things.clear()
        process(thing)


OTHERWISE = ["initial_list", "pop_result", "has_synced", "is_closed", "resync"]
right = adapt_queue(Box, pop="take", unsupported=OTHERWISE)
wrong = adapt_queue(Hasty, pop="take", unsupported=OTHERWISE)
'''


def test_a_queue_with_async_methods_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "async_boxes.py"
    file.write_text(ASYNC_BOX, encoding="utf-8")
    phases = ("smoke", "stateful", "explorer")
    assert run_conformance(f"{file}:right", type="fifo", programs=3, phases=phases).phases
    with pytest.raises(ConformanceError, match=r"queue\.pop"):
        run_conformance(f"{file}:wrong", type="fifo", programs=60, phases=("explorer",), most_findings=1)
