"""Fails where a relative link in Markdown leads nowhere: no such file, or no such heading.

Usage: python tools/links.py FILE.md ...
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

MARKDOWN = MarkdownIt("commonmark").enable("table")
HTML_LINK = re.compile(r"""\b(?:href|src|srcset)=["']([^"']+)""")
HTML_ANCHOR = re.compile(r"""\b(?:id|name)=["']([^"']+)""")


@cache
def tokens(document: Path) -> list[Token]:
    """Return the tokens of a document, those inside its paragraphs after each of them."""
    blocks = MARKDOWN.parse(document.read_text(encoding="utf-8"))
    return [token for block in blocks for token in (block, *(block.children or ()))]


def html(document: Path) -> str:
    """Return the HTML that stands in a document."""
    return "\n".join(token.content for token in tokens(document) if token.type.startswith("html_"))


def links(document: Path) -> Iterator[str]:
    """Yield the targets of links and images, whether in Markdown or in HTML."""
    for token in tokens(document):
        target = token.attrs.get("href") or token.attrs.get("src")
        if target:
            yield str(target)
    yield from HTML_LINK.findall(html(document))


@cache
def anchors(document: Path) -> set[str]:
    """Name the places inside a document as GitHub does; equal headings are numbered from 1."""
    found, seen = set(HTML_ANCHOR.findall(html(document))), Counter[str]()
    for opening, heading in pairwise(tokens(document)):
        if opening.type == "heading_open":
            name = slug(heading)
            found.add(f"{name}-{seen[name]}" if seen[name] else name)
            seen[name] += 1
    return found


def slug(heading: Token) -> str:
    """Lower case, without punctuation, with a hyphen for each space."""
    text = "".join(part.content for part in heading.children or () if part.type != "html_inline")
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def fault(document: Path, link: str) -> str | None:
    """Say what is wrong with a relative link; None for one that leads somewhere."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    target = document.parent / unquote(parts.path) if parts.path else document
    if not target.exists():
        return f"{document}: {link}: no such file"
    if parts.fragment and target.suffix == ".md" and parts.fragment not in anchors(target):
        return f"{document}: {link}: no such heading"
    return None


def main(documents: list[Path]) -> None:
    """Exit with the faults of all documents, or quietly."""
    faults = [fault(document, link) for document in documents for link in links(document)]
    sys.exit("\n".join(filter(None, faults)) or None)


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
