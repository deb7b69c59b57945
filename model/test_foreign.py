"""Objects of the code under test are looked at without running their code."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from types import ModuleType
from typing import Any

from kcache_model.foreign import class_attribute, is_a, is_any, own_attributes
from kcache_model.object_types.plain import plain_value


class Mute:
    """Answers nothing."""

    found = "in the class"

    def __init__(self) -> None:
        self.own = 1

    def __getattribute__(self, name: str) -> Any:
        raise ValueError(f"asked for {name}")


MUTE = Mute()


class Pretender:
    """Says that it is a list."""

    @property
    def __class__(self) -> Any:
        return list


def test_types_are_those_that_objects_have() -> None:
    assert is_a(MUTE, Mute)
    assert not is_a(MUTE, list)
    assert not is_any(MUTE, (list, dict))
    assert isinstance(Pretender(), list)
    assert not is_a(Pretender(), list)


def test_attributes_are_read_where_they_are_kept() -> None:
    assert own_attributes(MUTE) == {"own": 1}
    assert own_attributes(3) == {}
    assert own_attributes(Mute)["found"] == "in the class"
    assert class_attribute(Mute, "found") == "in the class"
    assert class_attribute(type("Derived", (Mute,), {}), "found") == "in the class"
    assert class_attribute(Mute, "absent") is None


def test_a_lazy_module_is_not_loaded() -> None:
    class Loader:
        def create_module(self, spec: Any) -> None:
            return None

        def exec_module(self, module: ModuleType) -> None:
            raise AssertionError("loaded")

    spec = importlib.machinery.ModuleSpec("foreign_lazy", Loader())  # type: ignore[arg-type]
    module = importlib.util.module_from_spec(spec)
    importlib.util.LazyLoader(Loader()).exec_module(module)  # type: ignore[arg-type]
    assert own_attributes(module)["__name__"] == "foreign_lazy"
    assert not is_any(module, (list, type))


def test_results_are_compared_without_asking_them() -> None:
    assert plain_value(MUTE) == "a Mute"
    assert plain_value([Pretender(), 1]) == ("a Pretender", 1)
