"""Measured figures have a date, and are listed once the code that they measure has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import figures

DATED = ("docs/operations.md", "docs/engines.md")


@pytest.mark.parametrize("name", DATED)
def test_measured_tables_name_their_date(name: str) -> None:
    page = figures.ROOT / name
    text = page.read_text(encoding="utf-8")

    dated = figures.read(page)

    assert len(dated) >= max(1, text.count("<!-- By `make"))
    for each in dated:
        assert f"Measured on {each.measured_on}, version {each.version}" in text


def test_a_table_is_older_than_its_code_once_a_room_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for room in ("trees", "wire"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "one.py").write_text("first", encoding="utf-8")
    digest_of = figures.digest_of
    monkeypatch.setattr(figures, "digest_of", lambda room: digest_of(room, tmp_path))
    page = tmp_path / "page.md"
    page.write_text(figures.stamp(("trees", "wire")), encoding="utf-8")
    (table,) = figures.read(page)

    assert table.changed() == []
    (tmp_path / "trees" / "one.py").write_text("second", encoding="utf-8")
    assert table.changed() == ["trees"]
