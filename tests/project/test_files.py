"""The files of the project belong to no machine."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

# Written so that this file does not contain what it looks for.
FORBIDDEN = [rb"/[w]ork/", rb"/[r]oot/", rb"\.\./[s]hared"]


@pytest.mark.parametrize("pattern", FORBIDDEN)
def test_no_file_names_a_path_of_one_machine(committed: list[Path], pattern: bytes) -> None:
    assert [path for path in committed if re.search(pattern, path.read_bytes())] == []


def test_locks_hold_no_address(root: Path) -> None:
    locks = [
        *root.glob("requirements/*.txt"),
        root / "tools/package-lock.json",
        *root.glob("clients/*/package-lock.json"),
    ]
    assert [path for path in locks if "://" in path.read_text(encoding="utf-8")] == []
    assert len(locks) == 22


def test_no_program_or_package_is_committed(committed: list[Path]) -> None:
    assert [path for path in committed if path.stat().st_size > 2 * 2**20] == []
    assert [path for path in committed if path.suffix in {".whl", ".so", ".exe"}] == []


def test_workflows_are_what_the_forge_takes(root: Path) -> None:
    files = [str(path) for path in root.glob(".github/workflows/*.yml")]
    command = ["--builtin-schema", "vendor.github-workflows", *files]

    assert files
    done = subprocess.run(
        [str(Path(sys.executable).with_name("check-jsonschema")), *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
