"""Every target type offers the same: what is said of one holds for all."""

from __future__ import annotations

import pytest

from kcache.testing import ConformanceError, replay, run_conformance
from kcache_conformance.suite_options import SuiteOptions, decode_options, encode_options
from kcache_conformance.target_type import TargetType
from kcache_conformance.target_types import TARGET_TYPES, type_of_token
from kcache_model.errors import FormatError
from kcache_model.items import Semantics

TYPES = pytest.mark.parametrize("target_type", TARGET_TYPES.values(), ids=lambda found: found.name)


@TYPES
def test_a_library_call_passes_the_reference(target_type: TargetType) -> None:
    result = run_conformance(target_type.reference, type=target_type.name, phases=("smoke",), seconds=60)
    assert [phase.phase for phase in result.phases] == ["smoke"]


@TYPES
def test_a_library_call_raises_for_a_fault_whose_token_can_be_replayed(target_type: TargetType) -> None:
    example = next(one for one in target_type.examples() if one.kind == "concurrent" and not one.is_strict)
    with pytest.raises(ConformanceError) as raised:
        run_conformance(f"{example.path}:{example.factory}", type=target_type.name, phases=("explorer",), seconds=120)
    (finding,) = raised.value.result.findings
    assert type_of_token(finding.schedule) is target_type or finding.schedule.startswith("kq1.")
    assert target_type.origin(finding.schedule).target == f"{example.path}:{example.factory}"
    with pytest.raises(ConformanceError):
        replay(finding.schedule)


def test_an_unknown_type_phase_or_token_is_refused_with_what_is_known() -> None:
    with pytest.raises(ValueError, match=r"unknown type 'queue'; known are: indexer, fifo"):
        run_conformance("kcache.queues:FIFO", type="queue")
    with pytest.raises(ValueError, match=r"unknown phases vectors; known are: smoke, scenarios"):
        run_conformance("kcache.informers:SharedIndexInformer", type="informer", phases=("vectors",))
    with pytest.raises(FormatError, match=r"begins with kx1\., kq1\. or ki1\."):
        replay("zz9.abc")


def test_options_go_to_a_child_and_come_back() -> None:
    options = SuiteOptions(Semantics.CURRENT, strict=True, phases=("smoke",), threads=3, kind="fifo", instrument=("a",))
    assert decode_options(encode_options(options)) == options
