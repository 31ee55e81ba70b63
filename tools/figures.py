"""Dates of measured figures: which tables of the documents are older than the code they measure.

Each table that a benchmark measures begins with a comment that tells when, of which version, and a
digest of each room that it measures; benchmarks write it by `stamp`. `python -m tools.figures`
lists the tables with the rooms that have changed since. It fails nothing: figures are measured on
an idle machine, and not for each commit.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
_CODE = ROOT / "service" / "onnxplain_server"
_STAMP = re.compile(r"<!-- Measured (\d{4}-\d\d-\d\d), version (\S+)(?:, of ([^>]*?))? -->")
_DIGITS = 8

SERVER_ROOMS = ("adapters", "effects", "explain", "methods", "plots", "transport", "trees", "wire")


@dataclass(frozen=True, slots=True)
class Figures:
    """A table of figures.

    Attributes
    ----------
    page : Path
    measured_on : date
    version : str
        Of onnxplain.
    digests : mapping of str to str
        Of the rooms that it measures; empty where they were not kept.
    """

    page: Path
    measured_on: date
    version: str
    digests: Mapping[str, str]

    def changed(self) -> list[str]:
        """Return the rooms that are not as they were measured."""
        return [room for room, digest in self.digests.items() if digest_of(room) != digest]


def digest_of(room: str, code: Path = _CODE) -> str:
    """Return a digest of the Python files of a room."""
    digest = hashlib.sha256()
    for path in sorted((code / room).rglob("*.py")):
        digest.update(str(path.relative_to(code)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:_DIGITS]


def stamp(rooms: Sequence[str]) -> str:
    """Return what a table begins with that is measured now: a comment, and a sentence."""
    today, release = datetime.now(UTC).date(), version("onnxplain-server")
    digests = " ".join(f"{room}={digest_of(room)}" for room in rooms)
    comment = f"<!-- Measured {today}, version {release}, of {digests} -->"
    return f"{comment}\n\nMeasured on {today}, version {release}."


def read(page: Path) -> list[Figures]:
    """Return the dated tables of a page."""
    found = []
    for day, release, digests in _STAMP.findall(page.read_text(encoding="utf-8")):
        pairs = dict(pair.split("=") for pair in digests.split())
        found.append(Figures(page, date.fromisoformat(day), release, pairs))
    return found


def listing() -> list[str]:
    """Return a line for each table."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [_line(figures) for page in pages for figures in read(page)]


def _line(figures: Figures) -> str:
    changed = figures.changed()
    state = "as measured"
    if changed:
        state = f"older than {', '.join(changed)}"
    elif not figures.digests:
        state = "of code that was not kept: measure anew"
    page = figures.page.relative_to(ROOT)
    return f"{page}: {figures.measured_on}, version {figures.version}: {state}"


if __name__ == "__main__":
    print("\n".join(listing()))  # noqa: T201 - output of a command
