import builtins
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from kcache.testing import ConformanceError, FindingKind, Status, run_conformance

pytest.importorskip("kubernetes.informer", reason="the client has an informer since 36.0.0")

from .kubernetes_object_cache import UNSUPPORTED, ObjectCacheStore, new_store

TARGET = f"{Path(__file__).with_name('kubernetes_object_cache.py')}:new_store"
INDEX_METHODS = {"index", "index_keys", "by_index", "list_index_func_values", "get_indexers", "add_indexers"}


class TornReplace(ObjectCacheStore):
    def replace(self, objs: Iterable[Any], _resource_version: str = "", /) -> None:
        self._replace_all([])
        for obj in objs:
            self._put(obj)


class UnlockedList(ObjectCacheStore):
    def list(self) -> builtins.list[Any]:
        return [self._objects[key] for key in self._objects]


class LostDelete(ObjectCacheStore):
    def delete(self, obj: Any, /) -> None:
        self._key_func(obj)


@pytest.mark.nightly
def test_the_suite_finds_nothing_wrong_with_the_cache(effort: Callable[[int, int], int]) -> None:
    ends_by_itself = ("smoke", "recorded")[: effort(1, 2)]
    for phases, seconds in ((ends_by_itself, 120.0), (("stateful", "explorer", "stress"), 0.3)):
        result = run_conformance(TARGET, seconds=seconds, phases=phases)
        assert result.status is Status.OK
        assert tuple(phase.phase for phase in result.phases) == phases
        assert set(result.not_tested) == set(UNSUPPORTED)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("broken", "phase", "kinds"),
    [
        (TornReplace, "stress", {FindingKind.NONLINEARIZABLE}),
        (UnlockedList, "stress", {FindingKind.NONLINEARIZABLE, FindingKind.EXCEPTION}),
        (LostDelete, "stateful", {FindingKind.DIVERGENCE}),
    ],
)
def test_it_does_find_what_is_wrong_with_a_broken_one(
    broken: type[ObjectCacheStore], phase: str, kinds: set[FindingKind]
) -> None:
    with pytest.raises(ConformanceError) as caught:
        run_conformance(
            lambda key_func, _: broken(key_func),
            seconds=60,
            phases=[phase],
            unsupported=UNSUPPORTED,
            most_findings=1,
        )
    assert caught.value.result.findings[0].kind in kinds


def test_the_cache_lacks_what_is_declared_as_missing() -> None:
    cache = new_store(str, {})
    methods = INDEX_METHODS | set(UNSUPPORTED) - {"indexes", "default"}
    assert [name for name in methods if hasattr(cache, name)] == []
    with pytest.raises(TypeError, match="get_by_key"):
        cache.get_by_key("no such key", "default")
