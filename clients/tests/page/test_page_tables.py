"""Tables that the page keeps as files: Parquet holds what CSV does, with types."""

from __future__ import annotations

import csv
import shutil
from itertools import permutations
from pathlib import Path

import page_files
import pyarrow as pa
import pytest
from harness import Server
from page_journeys import walk
from pyarrow import parquet

NAMES = ("Row", "Row (2)", "=SUM(1)", "a.b", "__proto__", "size", "text", "mixed")
EXTRA = tuple(f"extra {k}" for k in range(10))
NUMBERS = (0.1 + 0.2, 5e-324, -1.7976931348623157e308)
CELLS = (
    (1.0, 2.0, "=1+1", "x", "<b>", NUMBERS[0], 'say "a,b"\n', "1"),
    (3.0, 4.0, "x" * 10_000, "\u202ex", "y", NUMBERS[1], "", "two"),
    (5.0, 6.0, "+2", "", "z", None, "\x0b\U0001f600", "3"),
)


@pytest.fixture(scope="module")
def kept(root: Path, server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that a browser has kept."""
    folder, kept = tmp_path_factory.mktemp("files"), tmp_path_factory.mktemp("kept")
    page_files.write(folder)
    hostile = page_files.HOSTILE[1].replace("/", " ")
    shutil.copy(folder / f"{hostile}.onnx", folder / "hostile.onnx")
    with (folder / "cells.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow([*NAMES, *EXTRA])
        rows.writerows([[*row, *range(len(EXTRA))] for row in CELLS])
    walk(root, "tables", server, folder, ONNXPLAIN_KEPT=str(kept))
    return kept


def columns(path: Path) -> dict[str, list[float | str | None]]:
    """Columns of a file of Parquet, of doubles or texts."""
    table = parquet.read_table(path)
    assert {*table.schema.types} <= {pa.float64(), pa.string()}
    found: dict[str, list[float | str | None]] = table.to_pydict()
    return found


def cell(text: str, like: float | str | None) -> float | str | None:
    """A cell of CSV, without the apostrophe before a formula, read like one of Parquet."""
    if text == "" and like is None:
        return None
    return float(text) if isinstance(like, float) else text.removeprefix("'")


@pytest.mark.parametrize("name", ["cells", "columns", "pairs", "found", "none"])
def test_parquet_holds_the_rows_of_csv(kept: Path, name: str) -> None:
    with (kept / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        titles, *rows = csv.reader(file)
    found = columns(kept / f"{name}.parquet")

    assert len(found) == len(titles)
    for index, values in enumerate(found.values()):
        texts = [row[index] for row in rows]
        assert [cell(text, like) for text, like in zip(texts, values, strict=True)] == values


def test_types_names_and_digits_are_those_of_the_table(kept: Path) -> None:
    found = columns(kept / "cells.parquet")
    rows = zip(*(found[name] for name in ("Row (3)", *NAMES[1:])), strict=True)

    assert [*found] == ["Row", "Row (3)", *NAMES[1:], *EXTRA]
    assert [*rows] == [tuple(None if cell == "" else cell for cell in row) for row in CELLS]


def test_statistics_are_doubles_and_missing_ones_null(kept: Path) -> None:
    found = columns(kept / "columns.parquet")

    assert found["Column"] == [*NAMES, *EXTRA]
    assert found["Mean"][:3] == [3.0, 4.0, None]
    assert found["Missing"][5] == 1.0


def test_what_a_search_finds_is_kept(kept: Path) -> None:
    every, some = columns(kept / "columns.parquet"), columns(kept / "found.parquet")

    assert some == {name: values[len(NAMES) :] for name, values in every.items()}


def test_names_are_whole(kept: Path) -> None:
    found = columns(kept / "pairs.parquet")
    pairs = {" × ".join(pair) for pair in permutations(page_files.HOSTILE, 2)}

    assert {*found["Features"]} <= pairs
    assert all(isinstance(share, float) for share in found["Share"])
