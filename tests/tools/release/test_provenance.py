"""Provenance names every file of a release by its digest, and the commit that it was built from."""

import hashlib
import subprocess
from pathlib import Path

import pytest

from tools.release import provenance

ROOT = Path(__file__).parents[3]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout whose only files are a version and a lock, committed."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n', encoding="utf-8")
    (folder / "requirements").mkdir()
    (folder / "requirements" / "server.txt").write_text("numpy==2.2.0\n", encoding="utf-8")
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "All"]):
        subprocess.run(["git", "-C", folder, *command], check=True)
    monkeypatch.setattr(provenance, "ROOT", folder)
    return folder


def test_files_commit_bases_and_locks_are_named_by_their_digests(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BASE_IMAGE", "python:3.11@sha256:" + "ab" * 32)
    monkeypatch.delenv("BUILD_IMAGE", raising=False)
    release = tmp_path / "release"
    (release / "npm").mkdir(parents=True)
    (release / "npm" / "one.tgz").write_bytes(b"one")
    (release / "CHANGES.md").write_bytes(b"two")

    told = provenance.statement(release)

    assert told["subject"] == [
        {"name": name, "digest": {"sha256": hashlib.sha256(content).hexdigest()}}
        for name, content in (("CHANGES.md", b"two"), ("npm/one.tgz", b"one"))
    ]
    definition = told["predicate"]["buildDefinition"]
    assert definition["externalParameters"] == {"version": "1.2.3"}
    commit, base, lock = definition["resolvedDependencies"]
    head = subprocess.check_output(["git", "-C", checkout, "rev-parse", "HEAD"], text=True)
    assert commit["digest"] == {"gitCommit": head.strip()}
    assert base == {"uri": "docker://python:3.11", "digest": {"sha256": "ab" * 32}}
    assert lock["name"] == "requirements/server.txt"
    assert lock["digest"]["sha256"] == hashlib.sha256(b"numpy==2.2.0\n").hexdigest()


def test_a_checkout_with_uncommitted_changes_has_no_provenance(checkout: Path) -> None:
    (checkout / "pyproject.toml").write_text('[project]\nversion = "1.2.4"\n', encoding="utf-8")

    with pytest.raises(SystemExit, match=r"uncommitted changes(.|\n)*pyproject\.toml"):
        provenance.predicate()
