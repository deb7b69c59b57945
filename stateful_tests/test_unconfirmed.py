"""What is found where code runs that cannot be seen is a violation only if real threads go wrong, too."""

import textwrap
from math import inf

import pytest

from kcache.cli.console import counts_text
from kcache_conformance.report.html_format import page_of_report
from kcache_conformance.report.run_report import RunReport
from kcache_conformance.results.events import SuiteResult
from kcache_conformance.runs.suite import SuiteOptions, run_suite
from kcache_model.verdict import Status

KEEPER = """
    LOCKS = [__import__("_thread").RLock()]  # of the process: no import tells of it, nor does a name

    def held(function, *arguments):
        with LOCKS[0]:
            return function(*arguments)

    def free(function, *arguments):
        return function(*arguments)
    """

STORE = """
    import unseen_keeper
    from kcache import new_indexer

    class Kept:
        keep = "held"

        def __init__(self, inner):
            self._inner = inner

        def _kept(self, method, *arguments):
            return getattr(unseen_keeper, self.keep)(method, *arguments)

        def __getattr__(self, name):
            method = getattr(self._inner, name)
            return lambda *arguments: self._kept(method, *arguments)

        def _replaced(self, obj):
            self._inner.delete(obj)
            self._inner.add(obj)

        def update(self, obj):
            return self._kept(self._replaced, obj)

    class Free(Kept):
        keep = "free"

    def locked(key_func, indexers):
        return Kept(new_indexer(key_func, indexers))

    def unlocked(key_func, indexers):
        return Free(new_indexer(key_func, indexers))
    """


@pytest.fixture
def checked(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "unseen_keeper.py").write_text(textwrap.dedent(KEEPER))
    (tmp_path / "unseen_store.py").write_text(textwrap.dedent(STORE))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "elsewhere"))
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")

    def check(name: str) -> SuiteResult:
        for seconds in (1.5, 40.0):  # one of its first programs shows it; what proves nothing does not end the search
            options = SuiteOptions(phases=("explorer",), budget_seconds=seconds, seed=1, most_findings=1)
            result = run_suite(f"{tmp_path / 'unseen_store.py'}:{name}", options)
            if result.findings:
                break
        return result

    return check


def verdict_on_page(result: SuiteResult) -> str:
    page = page_of_report(RunReport("check", "title", "target", SuiteOptions(), result))
    (table,) = (table for table in page.tables if table.heading == "Phases")
    return table.rows[0][1]


@pytest.mark.nightly
def test_a_lock_that_cannot_be_seen_makes_no_violation(checked) -> None:
    result = checked("locked")
    assert result.status is Status.UNKNOWN
    assert all("unseen_keeper.held" in finding.unconfirmed for finding in result.findings)
    assert result.reasons == ("explorer: its finding is not confirmed",)
    assert verdict_on_page(result) == "unknown"


@pytest.mark.nightly
def test_the_same_without_the_lock_is_one(checked) -> None:
    result = checked("unlocked")
    assert result.status is Status.VIOLATION
    (finding,) = result.findings
    assert finding.unconfirmed == ""
    assert finding.schedule
    assert "real threads fail in the same program" in finding.detail
    assert verdict_on_page(result) == "failed"


LOOSE = """
    import html
    from kcache import new_indexer

    class Escaping:
        def __init__(self, inner):
            self._inner = inner

        def __getattr__(self, name):
            return getattr(self._inner, name)

        def add(self, obj):
            html.escape("<")
            self._inner.add(obj)

    def escaping(key_func, indexers):
        return Escaping(new_indexer(key_func, indexers))
    """


def test_what_proves_nothing_is_told_with_its_line(tmp_path) -> None:
    (tmp_path / "loose.py").write_text(textwrap.dedent(LOOSE))
    options = SuiteOptions(phases=("explorer",), budget_seconds=inf, programs=10, seed=12)
    (phase,) = run_suite(f"{tmp_path / 'loose.py'}:escaping", options).phases
    assert "loose.py:" in phase.no_proof
    assert f"no proof for some: {phase.no_proof}" in counts_text(phase)


EXECUTED = """
    space = {}
    exec('''
    from kcache import new_indexer

    class Wrapped:
        def __init__(self, inner):
            self._inner = inner

        def __getattr__(self, name):
            return getattr(self._inner, name)

    def made(key_func, indexers):
        return Wrapped(new_indexer(key_func, indexers))
    ''', space)
    made = space["made"]
    """


def test_code_from_a_text_is_refused_with_its_line(tmp_path) -> None:
    """It imports the modules of the process, with their real locks."""
    (tmp_path / "executed.py").write_text(textwrap.dedent(EXECUTED))
    options = SuiteOptions(phases=("explorer",), budget_seconds=inf, programs=12)
    result = run_suite(f"{tmp_path / 'executed.py'}:made", options)
    assert result.status is Status.UNKNOWN
    assert result.findings == ()
    assert "waits for something real" in result.reasons[0]
    assert ".py:" in result.reasons[0]


ONCE = """
    import contextlib
    LOCKS = [{lock}]

    class Once:
        def __init__(self, make):
            self.make = make

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, obj, owner):
            with LOCKS[0]:
                if self.name not in obj.__dict__:
                    obj.__dict__[self.name] = self.make(obj)
                return obj.__dict__[self.name]

        def __set__(self, obj, value):
            raise AttributeError(self.name)
    """

OWNER = """
    from kcache import testing as kt
    from unseen_once_{name} import Once

    class Owner:
        @Once
        def made(self):
            return object()

    @kt.interleaved(instrument="json")
    def one_object():
        owner = Owner()
        first, second = kt.run(lambda: owner.made, lambda: owner.made)
        assert first is second
    """


@pytest.mark.parametrize(
    ("name", "lock", "expected"),
    [
        ("locked", '__import__("_thread").RLock()', {Status.UNKNOWN, Status.OK}),
        ("free", "contextlib.nullcontext()", {Status.VIOLATION}),
    ],
)
def test_each_thread_is_watched_that_goes_on_where_another_one_waits(tmp_path, monkeypatch, name, lock, expected):
    """One that unknown code has called waits in a trace function, and on some versions nothing is traced there."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / f"unseen_once_{name}.py").write_text(textwrap.dedent(ONCE.format(lock=lock)))
    (tmp_path / f"owner_{name}.py").write_text(textwrap.dedent(OWNER.format(name=name)))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "elsewhere"))
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")
    options = SuiteOptions(phases=("explorer",), budget_seconds=inf, programs=1, kind="test", most_findings=1)
    result = run_suite(f"{tmp_path / f'owner_{name}.py'}:one_object", options)
    assert result.status in expected
