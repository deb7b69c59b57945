"""What a test leaves in modules is not there when its next execution begins: singletons and caches are explored."""

import textwrap
from math import inf
from pathlib import Path

import pytest

from kcache_model.finding import FindingKind
from kcache_model.interleaved_program import InterleavedProgram
from kcache_model.progress import NoProgress
from kcache_stress.explorer.explore import Explored, ExploreOptions, explore
from kcache_stress.explorer.replay import follow
from kcache_stress.explorer.replay_answer import ReplayAnswer
from kcache_stress.interleaved.body_laboratory import TOKENS, InterleavedLaboratory

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

    def same(get):
        one, other = kt.run(get, get)
        assert one is other

    def of_class_fails(): same(Settings.get)
    def of_module_fails(): same(of_module)
    def of_cache_fails(): same(of_cache)

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

    def in_threads_passes():
        found = []
        thread = threading.Thread(target=lambda: found.append(locked(of_module)()))
        thread.start()
        found.append(locked(of_module)())
        thread.join()
        assert found[0] is found[1]
    """


def laboratory(folder: Path, name: str) -> InterleavedLaboratory:
    file = folder / "lazy.py"
    file.write_text(textwrap.dedent(BODIES), encoding="utf-8")
    return InterleavedLaboratory(f"{file}:{name}")


def explored(folder: Path, name: str) -> Explored:
    return explore(laboratory(folder, name), InterleavedProgram(), QUICK)


@pytest.mark.parametrize("name", ["of_class", "of_module", "of_cache", "in_threads"])
def test_what_is_made_lazily_is_made_in_each_execution(name: str, tmp_path: Path) -> None:
    finding = explored(tmp_path, f"{name}_fails").finding
    assert finding is not None
    assert finding.kind is FindingKind.FAILURE
    replayed = follow(laboratory(tmp_path, f"{name}_fails"), TOKENS.decode(finding.schedule), NoProgress())
    assert replayed.answer is ReplayAnswer.REPRODUCED
    assert replayed.note == "the same schedule still fails"


@pytest.mark.parametrize("name", ["of_class", "of_module", "of_cache", "in_threads"])
def test_its_locked_twin_is_exhausted(name: str, tmp_path: Path) -> None:
    shown = explored(tmp_path, f"{name}_passes")
    assert shown.finding is None
    assert shown.is_exhausted, shown.note
