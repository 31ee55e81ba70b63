"""The table in docs/clients.md has all clients and all cases."""

from __future__ import annotations

from pathlib import Path

from harness import CASES
from registry import registered
from table import BEGIN, END


def test_the_table_is_of_these_clients_and_cases(root: Path) -> None:
    text = (root / "docs" / "clients.md").read_text(encoding="utf-8")
    lines = text.partition(BEGIN)[2].partition(END)[0].strip().splitlines()
    heads = [cell.strip() for cell in lines[0].strip("|").split("|")]
    names = {runner.name for runner in registered().values()}

    assert names <= set(heads), "run `make clients-table`"
    assert [line.split("`")[1] for line in lines[2:]] == [*CASES], "run `make clients-table`"
