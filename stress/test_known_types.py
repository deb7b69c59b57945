"""Classes of exceptions of the code under test are known, whatever their body holds; types in C of others are not."""

from __future__ import annotations

import enum
from pathlib import Path

import greenlet
import pytest

from kcache_stress.engine.strategy import Coverage
from kcache_stress.knowledge.code_in_c import is_known_type
from stress.material.body_support import investigated

RAISING = """
class Plain(Exception): pass
class Further(Plain): pass
class Telling(ValueError):
    def __init__(self, key):
        super().__init__(key)
        self.key = key

def raises(error):
    def work():
        try:
            raise error("x")
        except Exception as caught:
            str(caught), caught.args
    return work

def test_plain(): started(raises(Plain), raises(Plain))
def test_further(): started(raises(Further), raises(Further))
def test_telling(): started(raises(Telling), raises(Telling))
"""


def test_threads_that_raise_exceptions_of_their_own_are_proved(tmp_path: Path) -> None:
    found = {name: result.coverage for name, result in investigated(tmp_path, RAISING)}
    assert set(found.values()) == {Coverage.EXHAUSTED}, found


class _Error(Exception):
    pass


class _Further(_Error):
    pass


class _Slots:
    __slots__ = ("one",)


class _OfGreenlet(greenlet.greenlet):
    pass


class _FurtherOfGreenlet(_OfGreenlet):
    __slots__ = ()


@pytest.mark.parametrize(
    ("kind", "is_known"),
    [
        *((kind, True) for kind in (_Error, _Further, _Slots, KeyError, enum.Enum)),
        *((kind, False) for kind in (greenlet.greenlet, _OfGreenlet, _FurtherOfGreenlet)),
    ],
)
def test_what_a_class_takes_from_c_decides(kind: type, is_known: bool) -> None:
    assert is_known_type(kind) == is_known
