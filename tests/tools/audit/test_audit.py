"""`make audit` finds locked versions that an advisory is about, and no others."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[3]
SCANNER = ROOT / "tools/audit/bin/osv-scanner"
ECOSYSTEMS = ("PyPI", "npm", "Go", "Maven")

pytestmark = pytest.mark.skipif(
    not SCANNER.exists(), reason="osv-scanner is not built: make tools/audit/bin/osv-scanner"
)


def advisory(ecosystem: str, package: str, fixed: str) -> dict[str, object]:
    """An advisory about all versions before one."""
    events = [{"introduced": "0"}, {"fixed": fixed}]
    kind = "ECOSYSTEM" if ecosystem in {"PyPI", "Maven"} else "SEMVER"
    affected = {
        "package": {"ecosystem": ecosystem, "name": package},
        "ranges": [{"type": kind, "events": events}],
    }
    return {
        "id": "TEST-2026-1",
        "modified": "2026-01-01T00:00:00Z",
        "summary": "A fault that nobody has.",
        "affected": [affected],
    }


def audit(folder: Path, *advisories: tuple[str, str, str]) -> subprocess.CompletedProcess[str]:
    """Check the locks of the project against advisories."""
    for ecosystem in ECOSYSTEMS:
        (folder / ecosystem).mkdir()
        with ZipFile(folder / ecosystem / "all.zip", "w") as archive:
            for each in advisories:
                if each[0] == ecosystem:
                    archive.writestr("TEST-2026-1.json", json.dumps(advisory(*each)))
    return subprocess.run(
        ["tools/audit/audit.sh", SCANNER, folder],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ecosystem", "package"),
    [
        ("PyPI", "numpy"),
        ("npm", "@connectrpc/connect"),
        ("Go", "google.golang.org/grpc"),
        ("Maven", "io.grpc:grpc-core"),
    ],
)
def test_a_locked_version_with_an_advisory_is_found(
    tmp_path: Path, ecosystem: str, package: str
) -> None:
    found = audit(tmp_path, (ecosystem, package, "999.0.0"))

    assert found.returncode == 1, found.stderr
    assert re.search(rf"TEST-2026-1.*{re.escape(package)}", found.stdout)


def test_versions_with_the_fix_pass(tmp_path: Path) -> None:
    found = audit(tmp_path, *((name, package, "0.0.1") for name, package in [("PyPI", "numpy")]))

    assert found.returncode == 0, found.stdout + found.stderr


def test_a_folder_without_advisories_is_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        ["tools/audit/audit.sh", SCANNER, tmp_path],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 2
    assert "PyPI/all.zip" in done.stderr
