"""Where the project's files are."""

import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the checkout."""
    return Path(__file__).parents[2]


@pytest.fixture(scope="session")
def committed(root: Path) -> list[Path]:
    """The files that git knows and that are there."""
    # In a container the checkout may belong to someone else, which git must be told to accept.
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    names = subprocess.check_output(command, cwd=root, text=True).split("\0")
    return [root / name for name in names if name and (root / name).is_file()]
