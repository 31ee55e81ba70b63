"""Tests that a change can reach: by imports of the package, of helpers and of conftests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.testing.changed import reach

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("changed", "test", "distance"),
    [
        ("service/onnxplain_server/language/scope.py", "tests/language/test_language.py", 1),
        ("service/onnxplain_server/core/table.py", "tests/core/test_table.py", 0),
        ("tests/conformance/harness.py", "tests/conformance/test_surfaces.py", 0),
        ("tests/tools/testing/test_changed.py", "tests/tools/testing/test_changed.py", 0),
        ("tools/testing/changed.py", "tests/tools/testing/test_changed.py", 0),
    ],
)
def test_a_changed_file_reaches_a_test_by_so_many_imports(
    changed: str, test: str, distance: int
) -> None:
    assert reach(ROOT, [changed]).distances[ROOT / test] == distance


def test_a_document_reaches_no_test_and_is_told() -> None:
    found = reach(ROOT, ["README.md"])
    assert not found.distances
    assert found.unknown == ("README.md",)
