"""Tables of docs/systems.md, which the tools of this folder write between two comments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/systems.md"


def write_table(
    name: str, columns: Sequence[str], rows: Iterable[Sequence[str]], head: str = ""
) -> None:
    """Replace a table of the page: what stands between its two comments."""
    begin, end = f"<!-- table: {name} -->\n", "<!-- end -->\n"
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    lines = [f"| {' | '.join(cells)} |" for cells in (columns, ["---"] * len(columns), *rows)]
    table = "\n".join([*([head, ""] if head else []), *lines, ""])
    PAGE.write_text(f"{before}{begin}{table}{end}{after}", encoding="utf-8")
