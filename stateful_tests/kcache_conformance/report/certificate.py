"""Certificates of verification: as rows for people, and as plain JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from kcache_model.places import file_name, short_path

from ..runs.outcomes import Certificate
from .finding_places import versions

CERTIFICATE_SCHEMA: Final = "kcache/certificate/1"


def certificate_rows(certificate: Certificate) -> Mapping[str, str]:
    """What was verified, and how far: name -> text."""
    bound, tally = certificate.bound, certificate.tally
    total = "more than could be counted in time" if certificate.programs is None else certificate.programs
    generation = {} if certificate.semantics is None else {"semantics": certificate.semantics.value}
    made_with = versions()
    named = f"fingerprint {fingerprint(tally.sources)[:16]} of {len(tally.sources)} files"
    sources = {"sources": named} if tally.sources else {}
    return {
        "bound": f"{bound.threads}x{bound.operations} (threads x operations of each, at most)",
        **generation,
        "granularity": certificate.granularity,
        "reduction": certificate.reduction,
        "programs": f"{tally.programs} of {total}, modulo renaming and order of threads",
        "exhausted": f"{tally.exhausted} programs: all interleavings",
        "executions": str(tally.executions),
        "audited": f"{tally.audited} of them, of code as it is, switched at opcodes",
        **({"no proof": "; ".join(tally.notes)} if tally.notes else {}),
        **sources,
        "made with": f"kcache {made_with['kcache']}, {made_with['implementation']} {made_with['python']}",
        "date": certificate.began.isoformat(" ", "seconds"),
        "seconds": f"{certificate.seconds:.1f} ({tally.seconds:.1f} of processes)",
    }


def fingerprint(sources: frozenset[tuple[str, str]]) -> str:
    """SHA-256 of the names and digests of files: it changes with each of them, and not with where they lie."""
    named = sorted(f"{digest}  {file_name(path)}\n" for path, digest in sources)
    return hashlib.sha256("".join(named).encode()).hexdigest()


def encode_certificate(certificate: Certificate) -> dict[str, Any]:
    """A certificate as plain JSON; docs/formats.md describes the fields."""
    bound, tally, description = certificate.bound, certificate.tally, certificate.description
    return {
        "schema": CERTIFICATE_SCHEMA,
        "versions": versions(),
        "date": certificate.began.isoformat(timespec="seconds"),
        "target": certificate.target,
        "type": certificate.type,
        "status": certificate.status.value,
        "missing": certificate.missing,
        "bound": {"threads": bound.threads, "operations": bound.operations},
        "semantics": None if certificate.semantics is None else certificate.semantics.value,
        "granularity": certificate.granularity,
        "reduction": certificate.reduction,
        "programs": {"all": certificate.programs, "explored": tally.programs, "exhausted": tally.exhausted},
        "executions": tally.executions,
        "audited": tally.audited,
        "no_proof": list(tally.notes),
        "not_tested": [*description.unsupported, *description.left_out],
        "sources": {
            "fingerprint": fingerprint(tally.sources) if tally.sources else None,
            "files": [{"file": short_path(path), "sha256": digest} for path, digest in sorted(tally.sources)],
            "changed": tally.are_sources_changed,
            "instrumented": list(description.instrumented),
            "virtual": list(description.virtual),
            "opaque": list(description.opaque),
        },
        "seconds": round(certificate.seconds, 3),
    }
