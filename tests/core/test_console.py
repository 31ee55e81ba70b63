"""Symbols on consoles that lack them."""

from __future__ import annotations

import io
import sys

import pytest
from onnxplain_server.core.systems import console


@pytest.mark.parametrize(
    ("encoding", "written"),
    [
        ("cp1252", "größe >= 2 × 3, -1 ? #"),
        ("ascii", "gro?e >= 2 x 3, -1 ? #"),
        ("utf-8", "größe ≥ 2 × 3, −1 木 █"),
    ],
)
def test_what_an_encoding_lacks_is_written_in_plain_characters(
    monkeypatch: pytest.MonkeyPatch, encoding: str, written: str
) -> None:
    stream = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(stream, encoding=encoding))
    console.allow_all_symbols()

    print("größe ≥ 2 × 3, −1 木 █", flush=True)  # noqa: T201 - what is tested

    assert stream.getvalue().decode(encoding).strip() == written
