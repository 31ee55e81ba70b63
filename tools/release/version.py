"""Version of the project: stated in pyproject.toml, copied to the files of all packages.

Usage: python -m tools.release.version [--check | --changes | --set VERSION]

Without an option it prints the version. `--check` fails where a copy differs; `--changes` prints
what CHANGELOG.md tells of the version; `--set` writes a version into pyproject.toml and all copies,
and gives the unreleased changes in CHANGELOG.md its heading.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

SOURCE = "pyproject.toml"
NUMBER = r"\d+\.\d+\.\d+"
UNRELEASED = "## Unreleased\n"

COPIES = (
    (SOURCE, rf'"onnxplain==({NUMBER})"'),
    ("clients/go/version.go", rf'const Version = "({NUMBER})"'),
    ("clients/java/README.md", rf"<version>({NUMBER})</version>"),
    (
        "clients/java/pom.xml",
        rf"<artifactId>onnxplain-client</artifactId>\s*<version>({NUMBER})</version>",
    ),
    ("clients/python/pyproject.toml", rf'(?m)^version = "({NUMBER})"'),
    ("clients/r/DESCRIPTION", rf"(?m)^Version: ({NUMBER})$"),
    ("clients/typescript/package.json", rf'(?m)^  "version": "({NUMBER})"'),
    ("clients/typescript/package-lock.json", rf'"name": "onnxplain",\s*"version": "({NUMBER})"'),
    ("deploy/README.md", rf"onnxplain:({NUMBER})"),
    ("deploy/README.md", rf"newTag: ({NUMBER})"),
    ("deploy/helm/onnxplain/Chart.yaml", rf"(?m)^(?:version|appVersion): ({NUMBER})$"),
    ("deploy/helm/onnxplain/Chart.yaml", rf"image: onnxplain:({NUMBER})"),
)
"""Files that state the version too, and what stands around it; generated ones are not here."""


def stated(root: Path) -> str:
    """Return the version in pyproject.toml."""
    project = tomllib.loads((root / SOURCE).read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def differences(root: Path) -> Iterator[str]:
    """Yield a line for each copy that is missing or has another version."""
    version = stated(root)
    for path, pattern in COPIES:
        found = re.findall(pattern, (root / path).read_text(encoding="utf-8"))
        if not found:
            yield f"{path}: no version"
        yield from (f"{path}: {each}, not {version}" for each in found if each != version)


def set_version(root: Path, version: str) -> None:
    """Write a version into pyproject.toml, its copies and the heading of the CHANGELOG."""
    if not re.fullmatch(NUMBER, version):
        raise SystemExit(f"{version!r} is no version such as 1.2.3")
    changes = root / "CHANGELOG.md"
    today = datetime.now(UTC).date().isoformat()
    changelog = cut(changes.read_text(encoding="utf-8"), version, today)
    for path, pattern in ((SOURCE, rf'(?m)^version = "({NUMBER})"'), *COPIES):
        text = (root / path).read_text(encoding="utf-8")
        (root / path).write_text(_replaced(text, pattern, version), encoding="utf-8")
    changes.write_text(changelog, encoding="utf-8")


def _replaced(text: str, pattern: str, version: str) -> str:
    def with_version(found: re.Match[str]) -> str:
        start, end = (at - found.start() for at in found.span(1))
        return found[0][:start] + version + found[0][end:]

    return re.sub(pattern, with_version, text)


def cut(changes: str, version: str, date: str) -> str:
    """Return a CHANGELOG whose unreleased changes are those of a version.

    Raises SystemExit where there are none, or where the version has a heading already.
    """
    heading = f"## {version} - "
    if heading in changes:
        raise SystemExit(f"CHANGELOG.md has changes of {version} already")
    before, found, after = changes.partition(UNRELEASED)
    if not found or not after.partition("\n## ")[0].strip():
        raise SystemExit("CHANGELOG.md has no unreleased changes")
    return f"{before}{UNRELEASED}\n{heading}{date}\n{after}"


def released(changes: str, version: str) -> str:
    """Return what the CHANGELOG tells of a version; raises SystemExit where it tells nothing."""
    found = re.search(rf"(?ms)^## {re.escape(version)} - [\d-]+\n(.*?)(?=^## |\Z)", changes)
    if found is None or not found[1].strip():
        raise SystemExit(f"CHANGELOG.md has no changes of {version}")
    return found[1].strip() + "\n"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--check", action="store_true")
    choice.add_argument("--changes", action="store_true")
    choice.add_argument("--set", metavar="VERSION")
    arguments = parser.parse_args()
    root = Path(__file__).parents[2]
    if arguments.set:
        set_version(root, arguments.set)
    elif arguments.changes:
        changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
        sys.stdout.write(released(changes, stated(root)))
    elif arguments.check:
        if differing := list(differences(root)):
            raise SystemExit("\n".join(differing))
    else:
        sys.stdout.write(f"{stated(root)}\n")


if __name__ == "__main__":
    main()
