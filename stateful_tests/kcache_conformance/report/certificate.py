"""Certificates of verification: as rows of text, and as plain JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kcache_model.places import short_path
from kcache_stress.modules.sources import fingerprint_of_digests

from ..results.completeness import by_call
from ..results.events import waiting_text
from ..results.exploration_outcomes import Certificate
from .finding_places import versions
from .methods_text import encode_methods, methods_lines

CERTIFICATE_SCHEMA: Final = "kcache/certificate/2"


def certificate_rows(certificate: Certificate) -> Mapping[str, str]:
    """Return the verified scope as name -> text; with the methods of a class, which were called and which not."""
    bound, tally = certificate.bound, certificate.tally
    total = "a number that could not be counted in time" if certificate.programs is None else certificate.programs
    generation = {} if certificate.semantics is None else {"semantics": certificate.semantics.value}
    tools, others = versions(), waiting_text(certificate.waiting)
    named = f"fingerprint {fingerprint_of_digests(tally.sources)[:16]} of {len(tally.sources)} files"
    sources = {"sources": named} if tally.sources else {}
    return {
        "bound": f"{bound.threads}x{bound.operations} (threads x operations of each, at most)",
        **generation,
        **dict(line.split(": ", 1) for line in methods_lines(certificate.methods)),
        "granularity": certificate.granularity,
        "reduction": certificate.reduction,
        "programs": f"{tally.programs} of {total}, modulo renaming and order of threads{others}",
        "exhausted": f"{tally.exhausted} programs, in all interleavings",
        "executions": str(tally.executions),
        "audited": f"{tally.audited.executions} of them, of unchanged code; threads interrupted at {tally.audited}",
        **({"no proof": "; ".join(tally.notes)} if tally.notes else {}),
        **({"assumes": tally.assumes} if tally.assumes else {}),
        **sources,
        "made with": f"kcache {tools['kcache']}, {tools['implementation']} {tools['python']}",
        **_when(certificate),
        "seconds": f"{certificate.seconds:.1f} ({tally.seconds:.1f} of processes)",
    }


def encode_certificate(certificate: Certificate) -> dict[str, Any]:
    """Return a certificate as plain JSON; docs/formats.md describes the fields."""
    bound, tally, description = certificate.bound, certificate.tally, certificate.description
    return {
        "schema": CERTIFICATE_SCHEMA,
        "versions": versions(),
        "date": certificate.runs[0].began.isoformat(timespec="seconds"),
        "target": certificate.target,
        "tested": description.tested,
        "type": certificate.type,
        "status": certificate.status.value,
        "missing": certificate.missing,
        "bound": {"threads": bound.threads, "operations": bound.operations},
        "semantics": None if certificate.semantics is None else certificate.semantics.value,
        "granularity": certificate.granularity,
        "reduction": certificate.reduction,
        "programs": {
            "all": certificate.programs,
            "explored": tally.programs,
            "exhausted": tally.exhausted,
            "waiting": certificate.waiting,
        },
        "executions": tally.executions,
        "audited": tally.audited.to_json(),
        "no_proof": list(tally.notes),
        "assumes": tally.assumes,
        "not_tested": [*description.unsupported, *description.left_out],
        **({"methods": encode_methods(certificate.methods)} if certificate.methods else {}),
        "sources": {
            "fingerprint": fingerprint_of_digests(tally.sources) if tally.sources else None,
            "files": _files(tally.sources),
            "changed": tally.are_sources_changed,
            "instrumented": list(description.instrumented),
            "virtual": list(description.virtual),
            "opaque": list(description.opaque),
        },
        "seconds": round(certificate.seconds, 3),
        "runs": [
            {
                "date": run.began.isoformat(timespec="seconds"),
                "seconds": round(run.seconds, 3),
                "programs": run.programs,
            }
            for run in certificate.runs
        ],
        "resume": {
            "setting": dict(certificate.part.setting),
            "done": [list(ends) for ends in certificate.part.explored],
            "signature": list(certificate.part.signature),
            "loaded": _files(description.loaded),
            "found": tally.finding is not None,
            "calls": by_call(tally.calls),
            "process_seconds": round(tally.seconds, 3),
        },
    }


def _files(sources: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"file": short_path(path), "sha256": digest} for path, digest in sorted(sources)]


def _when(certificate: Certificate) -> Mapping[str, str]:
    """Return the date, or for several runs all dates with the number of explored programs."""
    dates = [run.began.isoformat(" ", "seconds") for run in certificate.runs]
    if len(dates) == 1:
        return {"date": dates[0]}
    runs = "; ".join(f"{date}, {run.programs} programs" for date, run in zip(dates, certificate.runs, strict=True))
    return {"runs": f"{len(dates)}: {runs}"}
