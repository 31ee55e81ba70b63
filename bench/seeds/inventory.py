"""Figures, tables, algorithms, numbered equations and printed numbers that a seed's text holds.

    python -m bench.seeds.inventory check METHOD TEXT...
    python -m bench.seeds.inventory write METHOD TEXT...

The texts are not ours to copy. The kept inventory has their ids, and their digests to recognise
them by. `check` counts again, and fails where a text, the kept inventory and the rows of the page
do not agree; `write` keeps what it counts.

In a paper, figures, tables and algorithms are counted where they are named, equations where the
next number stands in parentheses at the end of a line. A README of code has no numbers: its
displayed equations, its calls of plot(), and its comments and percentages with printed numbers are
counted in their order.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.seeds.rows import METHODS, Row, read_rows

KEPT = Path(__file__).parent / "inventory.json"
_NAMED = re.compile(r"\b(Fig(?:ure|\.)|Table|Algorithm)s?[ \u00a0~]([A-Z]?\d+)")
_NUMBERED = re.compile(r"\((\d+)\)\s*$", re.MULTILINE)
_DISPLAYED = re.compile(r"\$\$.+?\$\$", re.DOTALL)
_PLOT = re.compile(r"\bplot\(")
_PRINTED = re.compile(r"(?:^.*#.*\d.*\n)+|\d%", re.MULTILINE)


def count(text: str) -> list[str]:
    """Return the ids of what a text holds, in the order of kinds and numbers."""
    if "README.md" in text:
        kinds = (("Equation", _DISPLAYED), ("Plot", _PLOT), ("Print", _PRINTED))
        return [
            f"{kind} {number}"
            for kind, pattern in kinds
            for number, _ in enumerate(pattern.finditer(text), 1)
        ]
    found = {f"{kind.replace('Fig.', 'Figure')} {number}" for kind, number in _NAMED.findall(text)}
    return sorted(found, key=_order) + list(_equations(text))


def _order(name: str) -> tuple[str, str, int]:
    kind, number = name.split(" ")
    return kind, number.rstrip("0123456789"), int(number.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))


def _equations(text: str) -> Iterator[str]:
    expected = 1
    for number in _NUMBERED.findall(text):
        if int(number) == expected:
            yield f"Equation {expected}"
            expected += 1


def missing(ids: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """Return the ids of an inventory that no row has."""
    shown = {row.id for row in rows}
    return [name for name in ids if name not in shown]


def kept() -> dict[str, dict[str, Any]]:
    """Return the kept inventory: for each method `ids`, and `texts` with their digests."""
    found: dict[str, dict[str, Any]] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def counted(paths: Sequence[Path]) -> dict[str, Any]:
    """Count in copies of one text: what any of them holds counts."""
    texts = [path.read_text(encoding="utf-8") for path in paths]
    ids = dict.fromkeys(name for text in texts for name in count(text))
    digests = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    return {"ids": list(ids), "texts": digests}


def main() -> None:
    command, method, *paths = sys.argv[1:]
    if command not in {"check", "write"} or method not in METHODS or not paths:
        sys.exit(__doc__)
    found = counted([Path(path) for path in paths])
    if command == "write":
        changed = {**(kept() if KEPT.exists() else {}), method: found}
        KEPT.write_text(json.dumps(dict(sorted(changed.items())), indent=1) + "\n", "utf-8")
    elif found != kept()[method]:
        sys.exit(f"{method}: the texts hold other ids, or are other texts, than {KEPT.name} says")
    lacking = missing(found["ids"], read_rows(method))
    if lacking:
        sys.exit(f"{method}: no row for {', '.join(lacking)}")
    print(f"{method}: {len(found['ids'])} ids, each with a row")


if __name__ == "__main__":
    main()
