"""All packages state the version of pyproject.toml, and one command sets it in all of them."""

import shutil
from pathlib import Path

import pytest

from tools.release import version

ROOT = Path(__file__).parents[3]
CHANGES = """# Changelog

## Unreleased

- A new method.

## 0.1.0 - 2026-11-01

- The first one.
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files that state the version, and a CHANGELOG."""
    for path in {version.SOURCE, *(path for path, _ in version.COPIES)}:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    (tmp_path / "CHANGELOG.md").write_text(CHANGES, encoding="utf-8")
    return tmp_path


def test_every_package_states_the_version_of_pyproject() -> None:
    assert list(version.differences(ROOT)) == []


@pytest.mark.parametrize("path", sorted({path for path, _ in version.COPIES}))
def test_a_package_of_another_version_is_found(copy: Path, path: str) -> None:
    text = (copy / path).read_text(encoding="utf-8")
    before, _, after = text.rpartition(version.stated(ROOT))
    (copy / path).write_text(f"{before}9.9.9{after}", encoding="utf-8")

    assert any(line.startswith(f"{path}: 9.9.9") for line in version.differences(copy))


def test_setting_a_version_changes_all_packages_and_the_changelog(copy: Path) -> None:
    version.set_version(copy, "0.2.0")

    assert version.stated(copy) == "0.2.0"
    assert list(version.differences(copy)) == []
    text = (copy / "CHANGELOG.md").read_text(encoding="utf-8")
    assert version.released(text, "0.2.0") == "- A new method.\n"
    assert version.released(text, "0.1.0") == "- The first one.\n"
    # What has no version yet goes above.
    assert text.index("## Unreleased") < text.index("## 0.2.0 - ")


@pytest.mark.parametrize(
    ("number", "complaint"),
    [("0.1.0", "already"), ("1.2", "no version"), ("v0.2.0", "no version")],
)
def test_a_version_that_cannot_be_set_changes_no_file(
    copy: Path, number: str, complaint: str
) -> None:
    before = {file: file.read_bytes() for file in copy.rglob("*") if file.is_file()}

    with pytest.raises(SystemExit, match=complaint):
        version.set_version(copy, number)

    assert {file: file.read_bytes() for file in before} == before


def test_a_version_needs_changes() -> None:
    with pytest.raises(SystemExit, match="no unreleased changes"):
        version.cut(CHANGES.replace("- A new method.\n\n", ""), "0.2.0", "2026-11-02")
    with pytest.raises(SystemExit, match=r"no changes of 0\.3\.0"):
        version.released(CHANGES, "0.3.0")
