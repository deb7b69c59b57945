"""The explorer keeps what threads have used, so finalizers run late: what depends on them alone is no violation."""

import textwrap
from pathlib import Path

import pytest

from kcache_conformance.events import SuiteResult
from kcache_conformance.suite import run_suite
from kcache_conformance.suite_options import SuiteOptions
from kcache_model.verdict import Status

BODIES = """
    import threading
    import weakref

    lock = threading.Lock()
    closed = []

    class Used:
        def __init__(self):
            self.count = 0

        def use(self):
            self.count += 1

    class Closed(Used):
        def __del__(self):
            closed.append(self)

    def steps(work):
        try:
            yield work.use()
        finally:
            with lock:
                closed.append(work)

    def both(work):
        closed.clear()
        thread = threading.Thread(target=work)
        thread.start()
        work()
        thread.join()

    def finalized():
        both(lambda: Closed().use())
        assert len(closed) == 2

    def called_back():
        references = []
        def work():
            used = Used()
            references.append(weakref.ref(used, closed.append))
            used.use()
        both(work)
        assert len(closed) == 2

    def left_half_way():
        both(lambda: next(steps(Used())))
        assert len(closed) == 2

    def racy():
        one = Closed()
        both(one.use)
        assert one.count == 2

    def racy_in_a_generator():
        one = Used()
        made = [steps(one), steps(one)]
        both(lambda: next(made.pop()))
        assert one.count == 2
    """


def result(folder: Path, name: str) -> SuiteResult:
    file = folder / "late.py"
    file.write_text(textwrap.dedent(BODIES))
    return run_suite(f"{file}:{name}", SuiteOptions(kind="test", budget_seconds=60.0, most_findings=1))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("finalized", "Closed.__del__"),
        ("called_back", "the callback of a weak reference to a Used"),
        ("left_half_way", "the rest of the generator steps"),
    ],
)
def test_a_finalizer_that_is_late_is_no_violation(name: str, why: str, tmp_path: Path) -> None:
    shown = result(tmp_path, name)
    assert shown.status is Status.UNKNOWN
    (finding,) = shown.findings
    assert finding.unseen.startswith(f"{why} may run later")


@pytest.mark.parametrize("name", ["racy", "racy_in_a_generator"])
def test_a_race_beside_a_finalizer_is_one(name: str, tmp_path: Path) -> None:
    shown = result(tmp_path, name)
    assert shown.status is Status.VIOLATION
    assert [finding.unseen for finding in shown.findings] == [""]
