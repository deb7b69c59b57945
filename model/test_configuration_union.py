"""Configurations that are united: the verdict stays what it is without that, and what differs too much stays apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kcache_model.history import Call
from kcache_model.indexers import operations as op
from kcache_model.indexers.just_in_time import judge_history, linearization
from kcache_model.indexers.just_in_time.configuration import Configuration
from kcache_model.indexers.just_in_time.contents import ABSENT, Version
from kcache_model.indexers.just_in_time.reads import Impossible
from kcache_model.indexers.just_in_time.union import united
from kcache_model.indexers.just_in_time.writes import Put
from kcache_model.outcomes import returned
from kcache_model.verdict import Status
from model.material.simulated_histories import Simulator

NOW = 10


@pytest.mark.parametrize("seed", range(4))
def test_verdict_is_the_same_without_unions(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On histories that are too long for the generic search; short ones are compared with that."""
    verdicts: Counter[Status] = Counter()
    for number in range(60):
        simulator = Simulator(9_000 + 100 * seed + number)
        history = simulator.busy(6, 60) if number % 3 else simulator.correct(6, 120)
        with counted_unions(monkeypatch) as unions:
            result = judge_history(history)
        with monkeypatch.context() as context:
            context.setattr(linearization, "united", lambda configurations, _: configurations)
            apart = judge_history(history)
        assert (result.status, result.position) == (apart.status, apart.position), history
        verdicts[result.status] += unions.total()
    assert min(verdicts[Status.OK], verdicts[Status.VIOLATION]) > 5, verdicts


@contextmanager
def counted_unions(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    unions: Counter[str] = Counter()

    def counted(configurations: list[Configuration], now: float) -> list[Configuration]:
        found = united(configurations, now)
        unions["united"] += len(configurations) - len(found)
        return found

    with monkeypatch.context() as context:
        context.setattr(linearization, "united", counted)
        yield unions


def version(key: str, stamp: str) -> Version:
    return Version(key, stamp, (("node", stamp),), 1, 2)


def holding(**stored: Version) -> Configuration:
    configuration = Configuration(("node",))
    for key, found in stored.items():
        configuration.store(key, found)
    return configuration


def put_of(found: Version) -> Put:
    return Put(0, Call(0, op.list_objects(), 1, 2, returned()), found.key, found)


A1, A2, A3, B1, B2 = (
    version(key, stamp) for key, stamp in (("a", "1"), ("a", "2"), ("a", "3"), ("b", "4"), ("b", "5"))
)


def contents(configurations: list[Configuration]) -> set[tuple[Version, Version]]:
    """What may be under the two keys."""
    return {
        (a, b) for each in configurations for a, _ in each.alternatives_of("a") for b, _ in each.alternatives_of("b")
    }


def test_what_differs_in_one_key_becomes_one() -> None:
    both = united([holding(a=A1, b=B1), holding(a=A2, b=B1), holding(b=B1)], NOW)
    assert len(both) == 1
    assert contents(both) == {(A1, B1), (A2, B1), (ABSENT, B1)}
    more = united([*both, holding(a=A3, b=B1)], NOW)
    assert contents(more) == {(A1, B1), (A2, B1), (A3, B1), (ABSENT, B1)}


def test_what_differs_in_two_keys_stays_apart() -> None:
    for one, other in (
        (holding(a=A1, b=B1), holding(a=A2, b=B2)),
        (holding(a=A1, b=B1), holding(a=A2)),
        (holding(a=A1), holding(b=B1)),
    ):
        expected = contents([one]) | contents([other])
        apart = united([one, other], NOW)
        assert len(apart) == 2
        assert contents(apart) == expected


def test_alternatives_that_differ_in_two_keys_stay_apart() -> None:
    one, other = holding(a=A1, b=B1), holding(a=A1, b=B1)
    one.alternatives["a"] = ((A1, ()), (A2, ()))
    other.alternatives["b"] = ((B1, ()), (B2, ()))
    assert len(united([one, other], NOW)) == 2
    other.alternatives["a"] = ((A1, ()), (A2, ()))
    assert contents(united([one, other], NOW)) == {(A1, B1), (A2, B1), (A1, B2), (A2, B2)}


def test_version_that_is_seen_later_is_no_alternative() -> None:
    seen = version("a", "6")
    seen.seen_until = NOW + 1
    assert len(united([holding(a=A1), holding(a=seen)], NOW)) == 2
    assert len(united([holding(a=A1), holding(a=seen)], NOW + 1)) == 1


def test_what_is_still_to_come_must_be_the_same() -> None:
    def with_open_put() -> Configuration:
        configuration = holding(a=A1)
        configuration.begin_put(put)
        return configuration

    def with_open_read() -> Configuration:
        configuration = holding(a=A1)
        configuration.unsatisfied.append(read)
        return configuration

    put, read = put_of(B1), Impossible(1, Call(0, op.list_objects(), 1, 2, returned()))
    for waiting in (with_open_put, with_open_read):
        other = waiting()
        other.store("a", A2)
        assert len(united([waiting(), other], NOW)) == 1
        assert len(united([holding(a=A2), waiting()], NOW)) == 2


def test_writes_that_are_owed_are_kept() -> None:
    put = put_of(A3)
    one, other = holding(a=A1), holding(a=A2)
    one.begin_put(put)
    other.puts[put] = None
    (both,) = united([one, other], NOW)
    assert set(both.alternatives["a"]) == {(A1, (put,)), (A2, ())}
    assert both.can_hide(put)
    both.hide(put)
    assert both.alternatives_of("a") == ((A2, ()),)
