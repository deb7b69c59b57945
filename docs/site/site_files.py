"""The files of the site, as a hook of mkdocs: the pages of the repository, and copies of what they link to."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("", "docs", "benchmarks", "examples", "model", "stress", "stateful_tests")
_LINK = re.compile(r"\]\(([^()\s#:]+)(?:#[^()\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages and what they link to, under the paths that they have; a folder that is linked to gets a list of it."""
    pages = [page for folder in FOLDERS for page in ROOT.glob(f"{folder}/**/*.md" if folder else "*.md")]
    linked = {(page.parent / link).resolve() for page in pages for link in _LINK.findall(page.read_text("utf-8"))}
    lists = {path: sorted(path.glob("*.py")) for path in linked if path.is_dir() and not (path / "README.md").exists()}
    kept = {*pages, *(path for path in linked if path.is_file()), *(path for paths in lists.values() for path in paths)}
    found = [File.generated(config, _uri(path), abs_src_path=str(path)) for path in sorted(kept)]
    for folder, paths in lists.items():
        content = "\n".join([f"# {folder.name}", "", *(f"* [{path.name}]({path.name})" for path in paths)])
        found.append(File.generated(config, f"{_uri(folder)}/README.md", content=content))
    return Files([*(file for file in files if file.src_dir != config.docs_dir), *found])  # the former are the theme's


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """A link to a folder leads to its list."""

    def lead(found: re.Match[str]) -> str:
        is_folder = (ROOT / page.file.src_uri).parent.joinpath(found[1]).is_dir()
        return f"]({found[1].rstrip('/')}/README.md)" if is_folder else found[0]

    return _LINK.sub(lead, markdown)


def _uri(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
