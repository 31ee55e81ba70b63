"""Paths by the parts of addresses, on systems with and without drives."""

from __future__ import annotations

from pathlib import PurePath, PurePosixPath, PureWindowsPath

import pytest
from onnxplain_server.core.systems.paths import path_of, segments_of

PATHS = [
    PureWindowsPath("C:/Users/Jörg Müller/rows.csv"),
    PureWindowsPath("d:/rows.csv"),
    PureWindowsPath("C:/"),
    PurePosixPath("/home/jo/rows.csv"),
    PurePosixPath("/c:/rows.csv"),
    PurePosixPath("/"),
]


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_an_address_has_the_path_that_it_is_of(path: PurePath) -> None:
    found = path_of(segments_of(path), type(path))

    assert found == path
    assert found.is_absolute()
