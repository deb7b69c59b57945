"""Every target type offers the same: what is said of one holds for all."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from kcache.cli import main
from kcache.testing import ConformanceError, run_conformance
from kcache.testing import replay as replay_word
from kcache_conformance.phases.suite_options import OLD_NAMES, SuiteOptions, decode_options, encode_options, phase_ids
from kcache_conformance.report.issue_text import issue_text
from kcache_conformance.report.pytest_file import pytest_files
from kcache_conformance.runs.replays import replay_in_child
from kcache_conformance.targets import target_types
from kcache_conformance.targets.target_type import REPLAY, Stopped, TargetType
from kcache_conformance.targets.target_types import TARGET_TYPES, type_of_token
from kcache_model.errors import FormatError, TargetError
from kcache_model.indexers.items import Semantics
from kcache_model.rules import Contract
from kcache_stress.target.replay_answer import ReplayAnswer

TYPES = pytest.mark.parametrize(
    "target_type", [TARGET_TYPES[name] for name in sorted(TARGET_TYPES)], ids=lambda found: found.name
)

EXPLORED = pytest.mark.parametrize(
    "target_type",
    [TARGET_TYPES[name] for name in sorted(TARGET_TYPES) if TARGET_TYPES[name].exploring is not None],
    ids=lambda found: found.name,
)


@pytest.mark.one_in(7, start=1)
@TYPES
def test_a_library_call_passes_the_reference(target_type: TargetType) -> None:
    first = next(iter(target_type.phases))
    result = run_conformance(target_type.reference, type=target_type.name, phases=(first,), seconds=5)
    assert [phase.phase for phase in result.phases] == [first]


def test_a_function_that_breaks_a_rule_fails_like_any_other_target() -> None:
    target_type = TARGET_TYPES["index-function"]
    example = next(one for one in target_type.examples() if one.name == "app_label_required")
    with pytest.raises(ConformanceError, match="total: it raised KeyError") as raised:
        run_conformance(f"{example.path}:{example.factory}", type="index-function", seconds=4, most_findings=1)
    (finding,) = raised.value.result.findings
    assert type_of_token(finding.schedule) is target_type
    with pytest.raises(ConformanceError):
        replay_word(finding.schedule)


@pytest.mark.one_in(5, start=1)
@EXPLORED
def test_a_library_call_raises_for_a_fault_whose_token_can_be_replayed(target_type: TargetType) -> None:
    example = next(one for one in target_type.examples() if one.kind == "concurrent" and not one.is_strict)
    with pytest.raises(ConformanceError) as raised:
        run_conformance(
            f"{example.path}:{example.factory}",
            type=target_type.name,
            phases=("explorer",),
            seconds=120,
            most_findings=1,
        )
    (finding,) = raised.value.result.findings
    assert type_of_token(finding.schedule) is target_type or finding.schedule.startswith("kq1.")
    assert target_type.tokens.decode(finding.schedule).target == f"{example.path}:{example.factory}"
    with pytest.raises(ConformanceError):
        replay_word(finding.schedule)


STORED = {
    ("lookup_in_two_steps", "nonlinearizable"): (
        "kx1.eNp9jkFugzAQRe8ya1RCqrQpV6kQmsBALIxt2SaBIu7e71C23Y3ffL8_K0UqSWYenZaQR_a9xJBra4fJ1crU8WnrEMWF"
        "N7eURp5grcziKSNH5UqhucvIcAwNY8ydt73nMS8QCNiYqJqAdaM5BNWA7gKwbzK2Fapg8tKpGWQlCytNruUoKRtlTC2DLMCc"
        "nBGnYn6kggfrKZnW3ZSMBVXbtsEZ7164TTWH9bbsxx83AL2-_XnSsyB8PfLctv-fcCY0VRsIWk7ZV1Zk52t2yi6o7xHovCT7"
        "8CoyWhlhr374phPtQIvP64Xl_YO2X2s0fbs"
    ),
    ("close_wakes_one", "deadlock"): (
        "kq1.eNp1Tl0PgjAM_C_3XBXQB7O_QggZrFOyySaDoCH8dzveTZrrx12v3TBDgT_6FT2ny3vhRVLvQ-J21Y5TG0Y-x68aeW0P"
        "FoQItcENo5FVw37WJzvYIMT8nFibBFXXG4LIEAX3hv60xx0ZNDvBHWba-NA7scomBZUSGSoqKyro3hAeorMT5z9sLsvrzXa2"
        "x_4DabFACA"
    ),
    ("fifo_moved_to_end", "divergence"): (
        "kq1.eNqFjksOgzAMRO_idVTULnOVqoooHlBKSdKQ8BHK3WtYsWNjyzPzNN4okSYs9RC-GKtfRpbV2tabwU9gk7yB41tYtcNs"
        "Dp8UBdIb9daxwHt4lyJau5B-buTFpppZVP_-oElHGuuuVouoY5I-ufKdSlEXwHoCpjOQA9cJ1yWPExNkKrKd8xHyfIoZ5VUU"
        "9eKxnRA7uAZU_uLpWyw"
    ),
    ("wakeup_lost", "deadlock"): (
        "ki1.eNoVjlGOwjAMRO8y39bSlO3C5ipVVWVTF1DTJIqDACHuvs6fx_M84zcqLPjp9hxYDre4prJzkcPDbXzPc0hSv_LL7ipB"
        "yLBv_LFCDDuO8IVdbYbDRCMKr3fhOdykCshME6FeFVmk0SOkpgzqpmZcXVyCNsEapYqL0qpVri4Ik2bJK_pZ2KfY7rsPYdNf"
        "F40LyW9a2lI7OlNP3z9kaKCOeqPqpENbHLXmoictSPFVRzOcBv_renz-AUK3Tj4"
    ),
}
"""Example, and what is wrong with it -> a token of kcache 0.1 that says so."""


@TYPES
def test_its_tokens_lead_to_it(target_type: TargetType) -> None:
    """A table says which types share a prefix, so that one token loads no type but its own."""
    assert target_type.name in target_types._PREFIXES[target_type.tokens.prefix]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("stored", STORED, ids=lambda stored: " ".join(stored))
def test_old_tokens_stay_readable(stored: tuple[str, str], golden: Callable[[str, str], None]) -> None:
    name, kind = stored
    target_type = type_of_token(STORED[stored])
    assert target_type is not None
    token = target_type.tokens.decode(STORED[stored])
    examples = [one for found in TARGET_TYPES.values() for one in found.examples()]
    example = next(one for one in examples if one.name == name)
    assert token.target == f"examples/{example.path.parent.name}/{name}.py:{example.factory}"
    moved = target_type.tokens.encode(replace(token, target=f"{example.path}:{example.factory}"))
    found = replay_in_child(target_type, moved)
    assert found.finding is not None
    assert (found.answer, found.finding.kind, token.kind) == (ReplayAnswer.REPRODUCED, kind, kind)
    issue = issue_text(moved, token, found.finding)
    assert re.findall("^## (.*)", issue, re.MULTILINE)[2:4] == ["Scenario", "What happens"]
    (test,) = pytest_files(Path("test_it.py"), f"{moved[:4]}WORD", token, found.finding)
    text = re.sub(r"\n# ", " ", test.text)
    golden(f"pytest_{name}", re.sub(r": [^:\n]*, kcache \S+$", ": VERSIONS", text, flags=re.MULTILINE))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("word", STORED.values(), ids=lambda word: str(word)[:3])
def test_a_finding_becomes_a_test_and_a_page(word: str, tmp_path: Path) -> None:
    target_type = type_of_token(word)
    assert target_type is not None
    token = target_type.tokens.decode(word)
    made = TARGET_TYPES[getattr(token.program, "kind", target_type.name)]  # kq1. is for three
    word = target_type.tokens.encode(replace(token, target=made.reference))
    test, page = tmp_path / "test_found.py", tmp_path / "page.html"
    run = CliRunner(env={"NO_COLOR": "1"}).invoke
    assert run(main, ["replay", word, "--pytest", str(test)]).exit_code == 0
    assert "replay(" in test.read_text(encoding="utf-8")
    done = run(main, ["replay", word, "--html", str(page)])
    assert done.exit_code == 0, done.output
    assert "Fixed:" in page.read_text(encoding="utf-8")


def test_a_replay_that_never_ends_says_what_may_help() -> None:
    def summary(phase: str) -> str:
        stopped = Stopped(None, is_hang=True, phase=phase, note="", detail="", options=SuiteOptions())
        return TARGET_TYPES["indexer"].stopped(stopped).summary

    assert "name it with --instrument" in summary(REPLAY)
    assert summary("stress") == "creating the indexer did not return within 3 s"


def test_an_unknown_type_phase_or_token_is_refused_with_what_is_known() -> None:
    with pytest.raises(TargetError, match=r"no target type queue; known are indexer, fifo, .*MODULE:TYPE|package"):
        run_conformance("kcache.queues:FIFO", type="queue")
    with pytest.raises(ValueError, match=r"unknown phases vectors; known are: smoke, litmus"):
        run_conformance("kcache.informers:SharedIndexInformer", type="informer", phases=("vectors",))
    with pytest.raises(FormatError, match=r"begins with kx1\., kq1\., ki1\., kf1\., kt1\. or ko1\."):
        replay_word("zz9.abc")


@pytest.mark.one_in(3, start=1)
@pytest.mark.parametrize(
    ("old", "name", "seconds"),
    [("vectors", "fifo", 60.0), ("machine", "indexer", 0.2), ("scenarios", "informer", 60.0)],
)
def test_phases_are_accepted_by_their_old_names(old: str, name: str, seconds: float) -> None:
    result = run_conformance(TARGET_TYPES[name].reference, type=name, phases=(old, OLD_NAMES[old]), seconds=seconds)
    assert [phase.phase for phase in result.phases] == [OLD_NAMES[old]]
    command = ["check", "--reference", "--type", name]
    for only, without in ((old, OLD_NAMES[old]), (OLD_NAMES[old], old)):
        done = CliRunner().invoke(main, [*command, "--only", only, "--without", without])
        assert "--without leaves no phase to run" in done.output
    assert phase_ids((old,), (old, OLD_NAMES[old])) == (old,), "a type of somebody else may call its own phase so"


def test_options_go_to_a_child_and_come_back() -> None:
    options = SuiteOptions(
        Semantics.CURRENT, contract=Contract.STRICT, phases=("smoke",), threads=3, kind="fifo", instrument=("a",)
    )
    assert decode_options(encode_options(options)) == options
