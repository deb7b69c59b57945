"""Chart releases by chart and line (`v3.11` -> `003.x`); `isdigit` holds for superscripts, but `int` refuses them."""

import re
from dataclasses import dataclass

_VERSION = re.compile(r"v?(?P<major>\w{1,4})(?:\.(?P<minor>\w*))?")


@dataclass
class Release:
    chart: str
    version: str
    channel: str | None


def _line(version):
    match = _VERSION.match(version)
    if match is None or match["minor"] is None:
        return "unversioned"
    major = match["major"]
    return f"{int(major):03d}.x" if major.isdigit() else f"{major}.x"


def index_func(obj: Release):
    line = _line(obj.version)
    values = [f"{obj.chart}/{line}"]
    if obj.channel:
        values.append(f"channel/{obj.channel}/{line}")
    return values


def witness():
    return [
        Release("cart", "v3.11", "stable"),
        Release("cart", "main", None),
        Release("cart", "rc1.0", None),
        Release("cart", "v².0", None),
    ]
