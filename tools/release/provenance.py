"""Provenance of a release, as SLSA v1 has it: what was built, from which commit, by what.

Usage: python -m tools.release.provenance FOLDER > statement.json

The statement of in-toto names each file in FOLDER by its SHA-256; who signs it vouches for all.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tools.release.version import stated

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://github.com/onnxplain/onnxplain"
BUILD_TYPE = f"{REPOSITORY}/blob/main/RELEASING.md"
BUILDER = os.environ.get("RELEASE_BUILDER", "local")
"""Identity of who builds: a workflow's address, or `local` for a person's machine."""


def statement(folder: Path) -> dict[str, Any]:
    """Return the statement about all files below a folder."""
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": file.relative_to(folder).as_posix(), "digest": {"sha256": sha256(file)}}
            for file in sorted(folder.rglob("*"))
            if file.is_file()
        ],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": predicate(),
    }


def predicate() -> dict[str, Any]:
    """Return what was built from what, and when, in UTC."""
    finished = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "buildDefinition": {
            "buildType": BUILD_TYPE,
            "externalParameters": {"version": stated(ROOT)},
            "resolvedDependencies": list(dependencies()),
        },
        "runDetails": {
            "builder": {"id": BUILDER},
            "metadata": {"finishedOn": finished},
        },
    }


def dependencies() -> Iterator[dict[str, Any]]:
    """Yield the commit, the bases of the image and each lock, by their digests.

    The bases are those that the variables BASE_IMAGE and BUILD_IMAGE name by a digest.

    Raises SystemExit where the checkout has changes that no commit holds.
    """
    # The record of what CI has run is no part of a package, and is written by the run itself.
    if changed := _git("status", "--porcelain", "--", ".", ":!.ci/passed.json"):
        raise SystemExit(f"uncommitted changes, of which a commit tells nothing:\n{changed}")
    yield {"uri": f"git+{REPOSITORY}", "digest": {"gitCommit": _git("rev-parse", "HEAD")}}
    for base in filter(None, map(os.environ.get, ("BASE_IMAGE", "BUILD_IMAGE"))):
        name, _, digest = base.partition("@sha256:")
        if digest:
            yield {"uri": f"docker://{name}", "digest": {"sha256": digest}}
    for path in _git("ls-files", "requirements/*.txt", "*package-lock.json", "*go.sum").split():
        yield {"name": path, "digest": {"sha256": sha256(ROOT / path)}}


def sha256(file: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    return done.stdout.strip()


def main() -> None:
    """Print the statement about the folder that the command line names."""
    (folder,) = sys.argv[1:]
    json.dump(statement(Path(folder)), sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
