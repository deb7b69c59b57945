"""Smoke test: checks that the target is an Indexer at all. It runs first, so that a wrong set-up yields one finding."""

from __future__ import annotations

from collections.abc import Iterator

from kcache_model.finding import Finding, FindingKind
from kcache_model.indexers import operations as op
from kcache_model.indexers.codec import INDEXERS
from kcache_model.indexers.driver import Driver, takes_default
from kcache_model.indexers.items import Item, Style
from kcache_model.indexers.operations import Operation, OperationName
from kcache_model.indexers.program import Program
from kcache_model.indexers.target import FAILING_FUNCTIONS, INDEXES, Target
from kcache_model.object_types.noted_programs import begin
from kcache_model.progress import ProgressListener
from kcache_model.render import outcome_text

_A = Item("a", "v1", {"node": ("n1",)})
_B = Item("b", "v2", {"node": ("n1",)})
_MOVED = Item("a", "v3", {"node": ("n2",)})
_FAILS = Item("c", "v4", {"node": None})

_PROGRAM: tuple[Operation, ...] = (
    op.list_objects(),
    op.add(_A),
    op.get(_A),
    op.get_by_key("b"),
    op.update(_B),
    op.by_index("node", "n1"),
    op.update(_MOVED),
    op.index_keys("node", "n1"),
    op.index("node", _MOVED),
    op.list_index_func_values("node"),
    op.list_keys(),
    op.delete(_B),
    op.replace((_A, _B)),
    op.list_objects(),
    op.resync(),
    op.get_indexers(),
    op.replace(()),
)
_ODD_OBJECTS: tuple[Operation, ...] = tuple(
    operation
    for number, (key, values, style) in enumerate(
        (
            ("c", ("n1",), Style.FALSY),
            ("d", ("n1",), Style.EQUAL),
            ("d", ("n2",), Style.EQUAL),
            ("e", ("n2",), Style.UNHASHABLE),
            ("f", ("n1", "n2", "n1"), Style.PLAIN),
            ("g", (), Style.TUPLES),
            ("h", ("",), Style.PLAIN),
            ("", ("n1",), Style.PLAIN),
        ),
        5,
    )
    for item in (Item(key, f"v{number}", {"node": values}, style=style),)
    for operation in (op.add(item), op.get(item), op.index("node", item))
)
_AFTER_A_FAILURE: tuple[Operation, ...] = (op.add(_FAILS), op.replace((_A,)))
"""After a call that fails: the lock must be free, and ``replace`` must work for any state that the call left behind."""


def smoke_programs(target: Target) -> Iterator[Program]:
    """Yield programs with the most common operations on plain and on odd objects."""
    may_fail = INDEXES not in target.unsupported and FAILING_FUNCTIONS not in target.unsupported
    for operations in (_PROGRAM, _ODD_OBJECTS, *((_AFTER_A_FAILURE,) if may_fail else ())):
        yield Program(("node",), operations, semantics=target.semantics)


def shared_instance(target: Target, watch: ProgressListener) -> Finding | None:
    """Return the finding if a new Indexer contains an object that was added to another Indexer."""
    if not target.supports(OperationName.ADD) or not target.supports(OperationName.LIST_KEYS):
        return None
    program = Program(("node",), (op.add(_A),), semantics=target.semantics)
    begin(watch, INDEXERS, program)
    indexes = () if INDEXES in target.unsupported else program.indexes
    first = Driver(target, indexes, target.semantics)
    first.call(program.prefix[0])
    second = Driver(target, indexes, target.semantics)
    found = second.call(op.list_keys())
    watch.rest()
    for driver in (first, second):
        driver.close()
    if found.value != (_A.key,):
        return None
    return Finding(
        FindingKind.INVARIANT,
        "smoke",
        f"a new Indexer contains an object that was added to another Indexer: list_keys() gives {outcome_text(found)}",
        rule="instance-shared",
    )


def ignored_default(target: Target, watch: ProgressListener) -> Finding | None:
    """Return the finding if a lookup of a missing key does not return the default that was passed."""
    begin(watch, INDEXERS, Program(semantics=target.semantics))
    driver = Driver(target, (), target.semantics)
    try:
        problem = "returned something else" if not takes_default(driver, target) else None
    except Exception as error:
        problem = f"raised {type(error).__name__}: {error}"
    watch.rest()
    driver.close()
    if problem is None:
        return None
    return Finding(
        FindingKind.DIVERGENCE,
        "smoke",
        f"get_by_key(missing_key, default) or get(missing, default) {problem}; it must return default "
        '(an implementation without defaults declares "default" in kcache_unsupported)',
        rule="default-ignored",
    )
