"""Checker of the pictures of a page in Chromium, at any width: see `check.js`."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

from examples import reports

CHECK = (Path(__file__).parent / "check.js").read_text()


def problems(source: Path, target: Path, width: int) -> tuple[int, list[str]]:
    """Return the number of figures, and what is wrong with them.

    Parameters
    ----------
    source : Path
        The page.
    target : Path
        File to write the page with its check to.
    width : int
        Pixels of the screen.
    """
    told = _told(source, target, width)
    return told["figures"], told["problems"]


def firsts(source: Path, target: Path, width: int) -> dict[str, float]:
    """Return pixels from the top of a page to its first `bar` and its first `curve`."""
    found: dict[str, float] = _told(source, target, width)["firsts"]
    return found


def _told(source: Path, target: Path, width: int) -> Any:
    html = checked(source.read_text())
    target.write_text(html if width >= reports.NARROWEST else reports.framed(html, width))
    found = re.search(r'<pre id="told">(.*?)</pre>', reports.document(target, width), re.DOTALL)
    assert found, "not all plots were drawn"
    return json.loads(unescape(found[1]))


def checked(html: str) -> str:
    """Add the check to a page, whose policy would forbid it."""
    without_policy = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)
    head, _, tail = without_policy.rpartition("</body>")  # the library has others
    return f"{head}<script>{CHECK}</script></body>{tail}"
