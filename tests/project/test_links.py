"""tools/links.py, on documents with one link each."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "links.py"
GUIDE = """
# First steps

## What's `firm`?

## Limits

## Limits

<a id="by-hand"></a>
"""


def complaint(folder: Path, text: str) -> str:
    (folder / "guide.md").write_text(GUIDE, encoding="utf-8")
    (folder / "page.md").write_text(text, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, SCRIPT, "page.md"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (run.returncode == 0) == (run.stderr == "")
    return run.stderr.strip()


@pytest.mark.parametrize(
    "text",
    [
        "[file](guide.md)",
        "[folder](.)",
        "[heading](guide.md#first-steps)",
        "[punctuation](guide.md#whats-firm)",
        "[second of two](guide.md#limits-1)",
        "[anchor in HTML](guide.md#by-hand)",
        "# Here\n\n[same page](#here)",
        "[elsewhere](https://example.org/missing.md)",
        "[mail](mailto:someone@example.org)",
        "`[code](missing.md)`",
        '<img src="guide.md">',
        "| table |\n|---|\n| [file](guide.md) |",
    ],
)
def test_link_that_leads_somewhere_passes(tmp_path: Path, text: str) -> None:
    assert complaint(tmp_path, text) == ""


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[file](missing.md)", "missing.md: no such file"),
        ("![picture](missing.png)", "missing.png: no such file"),
        ("[heading](guide.md#third-steps)", "guide.md#third-steps: no such heading"),
        ("[third of two](guide.md#limits-2)", "guide.md#limits-2: no such heading"),
        ("[same page](#here)", "#here: no such heading"),
        ('<img src="missing.png">', "missing.png: no such file"),
        ("| table |\n|---|\n| [file](missing.md) |", "missing.md: no such file"),
    ],
)
def test_link_that_leads_nowhere_is_named(tmp_path: Path, text: str, fault: str) -> None:
    assert complaint(tmp_path, text) == f"page.md: {fault}"
