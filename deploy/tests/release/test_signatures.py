"""Every file of a release is signed, and one with a changed byte is refused."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from release_programs import COSIGN, run

ONE_OF_EACH = ("python/*.whl", "python/*.tar.gz", "go/**/*.zip", "npm/*.tgz", "maven/**/*0.jar",
               "chart/*.tgz", "image/*.tar", "image/*.json", "CHANGES.md")  # fmt: skip


def test_each_file_of_the_maven_repository_is_signed(release: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    gpg = ["gpg", "--homedir", str(tmp_path), "--batch", "--quiet"]
    run(*gpg, "--import", release / "maven.pub.asc", folder=tmp_path)
    signatures = [*release.glob("maven/**/*.asc")]

    assert {name.suffixes[-2] for name in signatures} == {".jar", ".pom"}
    assert len(signatures) == 4  # classes, sources, javadoc and POM
    for signature in signatures:
        run(*gpg, "--verify", signature, signature.with_suffix(""), folder=tmp_path)
        assert (
            signature.with_suffix(".sha1")
            .with_name(signature.with_suffix("").name + ".sha1")
            .exists()
        )


def verification(release: Path, file: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Ask cosign whether a file is one of the release, by the release's key, without network."""
    root = folder / "root.json"
    subprocess.run([COSIGN, "trusted-root", "create", "--out", root], check=True)
    given: list[str | Path] = [
        *("--key", release / "cosign.pub", "--insecure-ignore-tlog", "--trusted-root", root),
        *("--bundle", release / "provenance.sigstore.json", "--type", "slsaprovenance1"),
    ]
    return subprocess.run(
        [COSIGN, "verify-blob-attestation", *given, file],
        env=os.environ | {"COSIGN_MAX_ATTACHMENT_SIZE": "1GB"},  # the image's archive
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_file_is_one_of_those_that_were_signed(release: Path, tmp_path: Path) -> None:
    unsigned = {"provenance.sigstore.json"}
    files = [each for each in release.rglob("*") if each.is_file() and each.name not in unsigned]

    assert len(files) > 20
    failed = [each for each in files if verification(release, each, tmp_path).returncode]
    assert failed == []


@pytest.mark.parametrize("pattern", ONE_OF_EACH)
def test_a_changed_byte_is_refused(release: Path, tmp_path: Path, pattern: str) -> None:
    file = tmp_path / "changed"
    content = bytearray(min(release.glob(pattern)).read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)

    asked = verification(release, file, tmp_path)

    assert asked.returncode != 0
    assert "do not match digests in statement" in asked.stderr
