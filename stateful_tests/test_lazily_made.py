"""What a test leaves in modules is not there when its next execution begins: singletons and caches are explored."""

import gc
import textwrap
import weakref
from collections.abc import Callable
from functools import cache
from math import inf
from pathlib import Path

import pytest

from kcache_model.finding import FindingKind
from kcache_model.interleaved_program import InterleavedProgram
from kcache_model.progress import NoProgress
from kcache_stress.engine.happens_before import happens_before
from kcache_stress.engine.schedule_replay import Replay
from kcache_stress.interleaved.body_exploration import TOKENS, BodyExplorationTarget
from kcache_stress.target.explore import Explored, ExploreOptions, explore
from kcache_stress.target.replay import follow
from kcache_stress.target.replay_answer import ReplayAnswer

Twin = Callable[[str], tuple[BodyExplorationTarget, Explored]]

QUICK = ExploreOptions(seconds=inf, candidates=ExploreOptions(executions=20))  # no GIL is asked about

BODIES = """
    import threading
    from kcache import testing as kt

    lock = threading.Lock()
    made = None
    cache = {}

    class Settings:
        instance = None

        @classmethod
        def get(cls):
            if cls.instance is None:
                cls.instance = cls()
            return cls.instance

    def of_module():
        global made
        if made is None:
            made = object()
        return made

    def of_cache():
        if "key" not in cache:
            cache["key"] = object()
        return cache["key"]

    class Slot:
        __slots__ = ("made",)

        def __init__(self):
            self.made = None

    slot = Slot()

    def of_slot():
        if slot.made is None:
            slot.made = object()
        return slot.made

    class Reader(threading.Thread):
        shared = None

        def __init__(self):
            super().__init__(daemon=True)
            self.is_over = threading.Event()

        def run(self):
            self.is_over.wait()

        @classmethod
        def get(cls):
            if cls.shared is None:
                cls.shared = cls()
                cls.shared.start()
            return cls.shared

    def starts_a_reader():
        reader = Reader.get()
        assert reader.is_alive()
        reader.is_over.set()
        reader.join()
        assert not reader.is_alive()

    def same(get):
        one, other = kt.run(get, get)
        assert one is other

    def of_class_fails(): same(Settings.get)
    def of_module_fails(): same(of_module)
    def of_cache_fails(): same(of_cache)
    def of_slot_fails(): same(of_slot)

    def in_threads_fails():
        found = []
        thread = threading.Thread(target=lambda: found.append(of_module()))
        thread.start()
        found.append(of_module())
        thread.join()
        assert found[0] is found[1]

    def locked(get):
        def got():
            with lock:
                return get()
        return got

    def of_class_passes(): same(locked(Settings.get))
    def of_module_passes(): same(locked(of_module))
    def of_cache_passes(): same(locked(of_cache))
    def of_slot_passes(): same(locked(of_slot))

    def in_threads_passes():
        found = []
        thread = threading.Thread(target=lambda: found.append(locked(of_module)()))
        thread.start()
        found.append(locked(of_module)())
        thread.join()
        assert found[0] is found[1]
    """


def exploration_target(folder: Path, name: str) -> BodyExplorationTarget:
    file = folder / "lazy.py"
    file.write_text(textwrap.dedent(BODIES), encoding="utf-8")
    return BodyExplorationTarget(f"{file}:{name}")


@pytest.fixture(scope="module")
def folder_of_twins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("twins")


@pytest.fixture(scope="module")
def locked_twin(folder_of_twins: Path) -> Twin:
    """``locked_twin("of_slot")``: the target that was explored, and the result. Several tests look at one search."""

    @cache
    def locked_twin(name: str) -> tuple[BodyExplorationTarget, Explored]:
        target = exploration_target(folder_of_twins, f"{name}_passes")
        return target, explore(target, InterleavedProgram(), QUICK)

    return locked_twin


def explored(folder: Path, name: str) -> Explored:
    return explore(exploration_target(folder, name), InterleavedProgram(), QUICK)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["of_class", "of_module", "of_cache", "of_slot", "in_threads"])
def test_what_is_made_lazily_is_made_in_each_execution(name: str, tmp_path: Path) -> None:
    finding = explored(tmp_path, f"{name}_fails").finding
    assert finding is not None
    assert finding.kind is FindingKind.FAILURE
    replayed = follow(exploration_target(tmp_path, f"{name}_fails"), TOKENS.decode(finding.schedule), NoProgress())
    assert replayed.answer is ReplayAnswer.REPRODUCED
    assert replayed.note == "the same schedule still fails"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["of_class", "of_module", "of_cache", "of_slot", "in_threads"])
def test_its_locked_twin_is_exhausted(name: str, locked_twin: Twin) -> None:
    _, shown = locked_twin(name)
    assert shown.finding is None
    assert shown.is_exhausted, shown.note


@pytest.mark.parametrize(("name", "restores_each_time"), [("of_class", True), ("of_cache", True), ("of_slot", False)])
def test_modules_are_loaded_anew_only_where_they_cannot_be_restored(
    name: str, restores_each_time: bool, locked_twin: Twin
) -> None:
    found, _ = locked_twin(name)
    assert found._copies.restores_each_time
    assert found._copies.reloads_each_time is not restores_each_time


def test_copies_of_which_no_execution_is_left_die(locked_twin: Twin, folder_of_twins: Path) -> None:
    found, _ = locked_twin("of_slot")
    with found.open_runner(InterleavedProgram()) as (runner, _):
        copies = []
        for _ in range(3):
            execution = runner.run(Replay(()))
            happens_before(execution.trace, execution.actors)
            copies.append(weakref.ref(found.sandbox.load(folder_of_twins / "lazy.py").Slot))
        copy = copies[0]
        del execution
    gc.collect()
    assert copy() is None


def test_what_was_begun_before_threads_were_known_of_is_not_left_behind(tmp_path: Path) -> None:
    shown = explored(tmp_path, "starts_a_reader")
    assert shown.finding is None
    assert shown.is_exhausted, shown.note
