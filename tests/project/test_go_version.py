"""The Go client is of the same version as the Python client."""

import re
import tomllib
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def version(root: Path) -> str:
    client = tomllib.loads((root / "clients/python/pyproject.toml").read_text(encoding="utf-8"))
    return str(client["project"]["version"])


def test_the_versions_are_equal(root: Path, version: str) -> None:
    text = (root / "clients/go/version.go").read_text(encoding="utf-8")
    assert re.findall(r'const Version = "(.*)"', text) == [version]
