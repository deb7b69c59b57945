"""Arguments of the methods of a class that are made of annotations: data classes, enums, lists of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import pydantic
import pytest

from kcache_conformance.classes.argument_instances import argument_of, values_of
from kcache_conformance.classes.machine import rules_of
from kcache_conformance.classes.machine_of import machine_of
from kcache_conformance.classes.public_calls import public_calls
from kcache_conformance.classes.vocabulary_choice import vocabulary_of
from kcache_conformance.report.pytest_file import pytest_files
from kcache_conformance.targets.class_names import class_type_name
from kcache_conformance.targets.target_types import target_type_named
from kcache_model.errors import TargetError
from kcache_model.object_types.plain import ObjectProgram
from kcache_model.object_types.vocabulary import alphabet
from kcache_model.progress import NoProgress
from kcache_stress.loading import load_object
from kcache_stress.target.explore import ExploreOptions, explore
from kcache_stress.target.replay import follow
from kcache_stress.target.replay_answer import ReplayAnswer
from test_classes import exploration_target


class Side(Enum):
    BUY = 1
    SELL = 2


@dataclass
class Order:
    key: str
    amount: int
    side: Side = Side.BUY
    tags: list[str] = field(default_factory=list)


class Place(NamedTuple):
    row: int
    side: Side


class Row(TypedDict):
    name: str


@dataclass
class Linked:
    value: bool
    below: Linked | None


class Model(pydantic.BaseModel):
    name: str


@dataclass
class Refusing:
    size: Annotated[int, pydantic.Field(ge=5)]

    def __post_init__(self) -> None:
        if self.size > 0:
            raise ValueError("too large")


@dataclass
class Calling:
    key: str
    then: Callable[[], None]


class Plain:
    def __init__(self, host: str) -> None:
        raise AssertionError("only data classes are called")


@pytest.mark.parametrize(
    ("annotation", "written"),
    [
        (Order, ['Order(key="a", amount=1)', 'Order(key="b", amount=2)', 'Order(key="a", amount=2)']),
        (
            Place,
            ['Place(row=1, side=Side["BUY"])', 'Place(row=2, side=Side["SELL"])', 'Place(row=1, side=Side["SELL"])'],
        ),
        (Row, ['{"name": "a"}', '{"name": "b"}', '{"name": "c"}']),
        (Model, ['Model(name="a")', 'Model(name="b")', 'Model(name="c")']),
        (Linked, ["Linked(value=False, below=Linked("]),
        (Side | None, ['Side["BUY"]', "None", 'Side["SELL"]']),
        (list[Side], ['[Side["BUY"]]', '[Side["SELL"]]', '[Side["BUY"], Side["SELL"]]']),
        (tuple[int, str], ['(1, "a")', '(2, "b")', '(1, "b")']),
        (dict[str, Side], ['{"a": Side["BUY"]}', '{"b": Side["SELL"]}', '{"a": Side["SELL"]}']),
        (Literal["r", Side.SELL], ["'r'", 'Side["SELL"]']),
        (Annotated[int, pydantic.Field(ge=5, le=6)], ["5", "6"]),
        (Decimal, ['Decimal("0")']),
        (Callable[[], None], []),
    ],
)
def test_values_are_few_and_written_as_python(annotation: Any, written: Sequence[str]) -> None:
    values = values_of(annotation)
    shown = list(dict.fromkeys(map(repr, values)))
    assert shown[: len(written)] == written or shown[0].startswith(written[0])
    for value in values:
        if not isinstance(value, (int, str, type(None))):
            assert argument_of(value.json()) == value
            assert value.made() == eval(repr(value), globals())


def test_a_value_is_made_anew_each_time() -> None:
    value = values_of(Order)[0]
    assert value.made().tags is not value.made().tags


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [
        (Calling, "field 'then' of class Calling has the type"),
        (list[Calling], "field 'then' of class Calling has the type"),
        (Refusing, r"Refusing\(size=5\): Refusing refuses its fields: too large"),
        (Plain, "the class Plain is not a data class"),
    ],
)
def test_what_cannot_be_made_is_told_with_the_field(annotation: Any, reason: str) -> None:
    with pytest.raises(TargetError, match=reason):
        values_of(annotation)


ORDERS = """
import threading
from dataclasses import dataclass
from enum import Enum


class Side(Enum):
    BUY = 1
    SELL = 2


@dataclass(frozen=True)
class Order:
    key: str
    side: Side


class Book:
    def __init__(self):
        self._orders = []

    def save(self, order: Order, sides: list[Side]) -> int:
        assert isinstance(order, Order) and order.side in sides
        if len(self._orders) >= 1:
            raise LookupError("full")
        self._orders.append(order)
        return len(self._orders)


class LockedBook(Book):
    def __init__(self):
        super().__init__()
        self._lock = threading.Lock()

    def save(self, order: Order, sides: list[Side]) -> int:
        with self._lock:
            return super().save(order, sides)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    target_type_named.cache_clear()  # by a name that counts from the folder in which a command runs
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "orders.py").write_text(ORDERS, encoding="utf-8")
    return tmp_path


def program_of(target: str) -> ObjectProgram:
    """Two threads that save an order each."""
    kind: Any = load_object(target)
    first = alphabet(vocabulary_of(public_calls(kind, kind())).templates, 0)[0]
    assert str(first) == 'save(Order(key="a", side=Side["BUY"]), [Side["BUY"]])'
    return ObjectProgram(threads=((first,), (first,)))


@pytest.mark.usefixtures("folder")
def test_a_class_that_is_given_data_classes_is_accused_and_the_finding_can_be_replayed_and_pasted() -> None:
    target = "orders.py:Book"
    made = exploration_target(target)
    finding = explore(made, program_of(target), ExploreOptions(seconds=60.0)).finding
    assert finding is not None
    token = target_type_named(class_type_name(target)).tokens.decode(finding.schedule)
    assert token.program == program_of(target)
    assert follow(made, token, NoProgress()).answer is ReplayAnswer.REPRODUCED
    text = next(pytest_files(Path("test_it.py"), finding.schedule, token, finding)).text
    assert "from orders import Book\nfrom orders import Order\nfrom orders import Side\n" in text
    assert 'book.save(Order(key="a", side=Side["BUY"]), [Side["BUY"]])' in text
    compile(text, "test_it.py", "exec")


@pytest.mark.usefixtures("folder")
def test_its_twin_passes_in_every_order() -> None:
    target = "orders.py:LockedBook"
    found = explore(exploration_target(target), program_of(target), ExploreOptions(seconds=60.0))
    assert (found.finding, found.is_exhausted) == (None, True)


def test_a_method_that_cannot_be_called_is_left_out_with_the_reason(folder: Path) -> None:
    made = target_type_named(class_type_name("orders.py:Book"))
    assert made.not_tested(made.load("orders.py:Book")) == ()
    target_type_named.cache_clear()
    (folder / "orders.py").write_text(ORDERS.replace("side: Side", "side: type(print)"), encoding="utf-8")
    reason = r"left out: save\(order: field 'side' of class Order has the type"
    with pytest.raises(TargetError, match=reason):
        target_type_named(class_type_name("orders.py:Book")).load("orders.py:Book")


def test_a_machine_of_a_class_is_given_them_too() -> None:
    class Book:
        saved: Sequence[str] = ()

        def save(self, order: Order) -> None:
            self.saved = (*self.saved, order.key)

    machine: Any = machine_of(Book)
    ((save, _),) = [(rule.function, rule.arguments) for rule in rules_of(machine).values() if rule.arguments]
    book = Book()
    save(machine, book, order=values_of(Order)[0])
    assert book.saved == ("a",)
