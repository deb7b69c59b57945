"""Team quotas by the folded names of the team and by use.

Correct: it works destructively, but on a deep copy, cuts the names before it normalises them and never writes out a
number of any size.
"""

import copy
import unicodedata
from dataclasses import dataclass, field


@dataclass
class TeamQuota:
    team: str
    limit: int | None
    used: int
    aliases: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)


def _fold(name):
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name[:128]).casefold()).strip()


def _use(limit, used):
    if not limit or limit < 0:
        return "unlimited"
    return f"tenths/{max(0, min(10, used * 10 // limit))}"


def index_func(obj: TeamQuota):
    quota = copy.deepcopy(obj)
    names = quota.aliases
    names.append(quota.team)
    former = quota.options.pop("former-name", None)
    if former is not None:
        names.append(former)
    folded = sorted({_fold(name) for name in names} - {""})
    return [f"team/{name}" for name in folded] + [_use(quota.limit, quota.used)]


def witness():
    return [
        TeamQuota("Straße", 10, 7, ["STRASSE", "①"], {"former-name": "\u212bngstrom"}),
        TeamQuota("", None, 0),
        TeamQuota("batch", -1, 10**6000),
        TeamQuota("web", 10**6000, 10**5999, [""]),
    ]
