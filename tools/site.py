"""Gives MkDocs the documents where they lie in the checkout, so that links work here and there.

A link to a file that is no document leads to a page that shows it. A link to a file that is not
there, or to a folder, stays as it is, and the strict build fails on it.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page
from onnxplain.v1.explanation_service_pb2 import MethodOptions

ROOT = Path(__file__).parents[1]
DOCUMENTS = (
    "*.md",
    "clients/go/README.md",
    "clients/java/README.md",
    "clients/python/README.md",
    "clients/r/README.md",
    "clients/typescript/README.md",
    "deploy/*.md",
    "deploy/helm/*/README.md",
    "docs/*.md",
    "docs/*/*.md",
    "examples/**/*.md",
)
METHODS = "docs/methods/"
PICTURES = ("docs/images/*.png",)
SEARCH = ROOT / "tools/node_modules/iframe-worker/shim/index.js"
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")
_UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n"
LOADED = re.compile(
    r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*>"""
)
LANGUAGES = {
    ".go": "go",
    ".html": "html",
    ".java": "java",
    ".json": "json",
    ".proto": "proto",
    ".py": "python",
    ".sh": "sh",
    ".ts": "typescript",
    ".yaml": "yaml",
}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the pages of all methods where `nav` names their folder, in the contract's order."""
    names = (field.name for field in MethodOptions.DESCRIPTOR.oneofs_by_name["method"].fields)
    pages = [f"{METHODS}{name.replace('_', '-')}.md" for name in names]
    for entry in config.nav or []:
        for title, value in entry.items():
            entry[title] = pages if value == METHODS else value
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add documents, their pictures, and the files that they link to."""
    documents = sorted({path for pattern in DOCUMENTS for path in ROOT.glob(pattern)})
    for path in documents:
        files.append(_file(config, path))
    for path in (path for pattern in PICTURES for path in ROOT.glob(pattern)):
        files.append(_file(config, path))
    files.append(File.generated(config, "iframe-worker.js", abs_src_path=str(SEARCH)))
    for path in sorted({path for document in documents for path in _shown(document)}):
        text = path.read_text(encoding="utf-8")
        language = LANGUAGES.get(path.suffix, "text")
        page = f"{_UNSEARCHED}# {path.name}\n\n````{language}\n{text}\n````\n"
        files.append(
            File.generated(
                config, f"{_name(path)}.md", content=page, inclusion=InclusionLevel.NOT_IN_NAV
            )
        )
    return files


def on_page_markdown(markdown: str, page: Page, files: Files, **_config: MkDocsConfig) -> str:
    """Lead links to files that are no documents to the pages that show them."""
    folder = PurePosixPath(page.file.src_uri).parent

    def lead(found: re.Match[str]) -> str:
        target = f"{normpath(str(folder / found[1]))}.md"
        shown = files.get_file_from_path(target)
        return found[0] if shown is None else f"]({found[1]}.md{found[2] or ''})"

    return LINK.sub(lead, markdown)


def on_post_page(output: str, page: Page, **_config: MkDocsConfig) -> str:
    """Refuse a page that would load something from elsewhere."""
    if (found := LOADED.search(output)) is not None:
        raise PluginError(f"{page.file.src_uri} loads from elsewhere: {found[0]}")
    return output


def _file(config: MkDocsConfig, path: Path) -> File:
    return File.generated(config, _name(path), abs_src_path=str(path))


def _shown(document: Path) -> set[Path]:
    """Find the files that a document links to and that are neither documents nor pictures."""
    text = document.read_text(encoding="utf-8")
    targets = {(document.parent / link).resolve() for link, _ in LINK.findall(text)}
    known = {".md", ".png", ".onnx", ".gz"}
    return {path for path in targets if path.is_file() and path.suffix not in known}


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
