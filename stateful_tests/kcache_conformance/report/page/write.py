"""Page writer: writes one file that needs no other file, makes no requests, and runs no script but its own."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from kcache_model.render import printable
from kcache_model.verdict import Status

from .encode import encode_picture, json_for_html
from .picture import Detail, Page, Table

_SCRIPTS = ("layout.js", "states.js", "drawing.js", "panel.js", "furniture.js", "walk.js", "page.js")
_LONGEST_DETAIL = 200_000
_PILLS = {Status.OK: ("\u2713", "ok"), Status.VIOLATION: ("\u2717", "violation"), Status.UNKNOWN: ("?", "unknown")}


def write_page(file: Path, page: Page) -> None:
    """Write the page to ``file``."""
    file.write_text(page_text(page), encoding="utf-8", newline="\n", errors="backslashreplace")


def page_text(page: Page) -> str:
    """Return the whole document."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # few runs write a page
    from markupsafe import Markup

    style = _template("page.css")
    script = "(() => {\n'use strict';\n" + "\n".join(map(_template, _SCRIPTS)) + "})();\n"
    environment = Environment(
        autoescape=True,
        loader=FunctionLoader(_template),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    sign, verdict = _PILLS[page.status]
    return environment.get_template("page.html.j2").render(
        page=_printable(page),
        sign=sign,
        verdict=verdict,
        # Both are files of this package, and the picture is escaped by json_for_html: nothing of a target is in them.
        style=Markup(style),
        script=Markup(script),
        picture=None if page.picture is None else Markup(json_for_html(encode_picture(page.picture))),
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


def _template(name: str) -> str:
    return files(__name__.rpartition(".")[0]).joinpath("templates", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the hash by which a Content-Security-Policy allows a text in the page."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_DETAIL else f"{text[:_LONGEST_DETAIL]}\n... ({len(text):,} characters in all)"


def _printable(page: Page) -> Page:
    """Return the page without control characters."""
    return replace(
        page,
        title=printable(page.title),
        headline=printable(page.headline),
        paragraphs=tuple(map(printable, page.paragraphs)),
        tables=tuple(
            Table(
                printable(table.heading),
                tuple(map(printable, table.columns)),
                tuple(tuple(map(printable, row)) for row in table.rows),
            )
            for table in page.tables
        ),
        details=tuple(Detail(printable(detail.heading), printable(_cut(detail.text))) for detail in page.details),
        command=printable(page.command),
        label=printable(page.label),
    )
