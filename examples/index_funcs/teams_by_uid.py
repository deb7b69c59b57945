"""Objects by the teams in an annotation. Faulty: what was found is kept by uid, so a later version gets old values."""

import re

TEAMS = "example.com/teams"


def teams_of(metadata):
    text = (metadata.get("annotations") or {}).get(TEAMS) or ""
    return tuple(dict.fromkeys(re.findall(r"@(\w+)", text)))


def known_teams(metadata, known={}):  # noqa: B006 - kept from call to call
    uid = metadata.get("uid")
    if not uid:
        return teams_of(metadata)
    teams = known.get(uid)
    if teams is None:
        teams = known.setdefault(uid, teams_of(metadata))
    return teams


def index_func(obj):
    return [f"team/{team}" for team in known_teams(obj["metadata"])]


def witness():
    return [
        {"kind": "Deployment", "metadata": {"name": "web", "uid": "0c1d", "annotations": {TEAMS: teams}}}
        for teams in ("owned by @shop", "owned by @shop and @payments")
    ]
