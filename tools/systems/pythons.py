"""Pythons of this machine, by their minor versions, and those that Maven's registry keeps."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

MINORS = ("3.11", "3.12", "3.13", "3.14")
"""Versions that the packages are tried on."""

CACHE = Path.home() / ".cache/onnxplain"

_SYSTEM = Path("/usr/bin/python3")

_ARCHIVED = {"3.14": "org.bytedeco:cpython:3.14.3-1.5.13:jar:linux-x86_64"}
"""Whole Pythons within archives for Java programs."""

_ASK = """import ensurepip, pathlib, sys, sysconfig
print(*sys.version_info[:2], sep=".")
print(pathlib.Path(sysconfig.get_path("include"), "Python.h").exists())"""


def find(minor: str, *, with_headers: bool = False) -> Path | None:
    """Return a Python of this version that makes environments; by its name, or as pyenv has it."""
    candidates = _candidates(f"python{minor}")
    return next((path for path in candidates if _answers(path, minor, with_headers)), None)


def of_system() -> tuple[str, Path] | None:
    """Return the system's own Python with its version; None for one that is not tried here."""
    for minor in MINORS:
        if _answers(_SYSTEM, minor):
            return minor, _SYSTEM
    return None


def newest(*, with_headers: bool = False) -> Path:
    """Return the newest of this machine, or the one that runs."""
    found = (find(minor, with_headers=with_headers) for minor in reversed(MINORS))
    return next(filter(None, found), Path(sys.executable))


def fetch(minor: str) -> Path | None:
    """Unpack a Python for Linux on x86-64 out of its archive; None without one, or without mvn."""
    if minor not in _ARCHIVED or not shutil.which("mvn"):
        return None
    folder = CACHE / f"python-{minor}"
    program = folder / "org/bytedeco/cpython/linux-x86_64/bin" / f"python{minor}"
    if not program.exists():
        with ZipFile(archive(_ARCHIVED[minor], folder)) as packed:
            packed.extractall(folder)
        program.chmod(0o755)
    return program


def archive(coordinates: str, folder: Path) -> Path:
    """Copy a file of Maven's registry into a folder; return its path."""
    command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={coordinates}"]
    subprocess.run([*command, f"-DoutputDirectory={folder}"], check=True, cwd=Path.home())  # noqa: S603 - a name of ours
    _, artifact, version, _, classifier = coordinates.split(":")
    return folder / f"{artifact}-{version}-{classifier}.jar"


def _answers(path: Path, minor: str, with_headers: bool = False) -> bool:
    """Return whether this is a Python of the version, which makes environments."""
    if not path.exists():
        return False
    done = subprocess.run([path, "-c", _ASK], capture_output=True, text=True, check=False)  # noqa: S603 - a Python
    has_headers = done.stdout.endswith("True\n")
    return done.stdout.startswith(f"{minor}\n") and (has_headers or not with_headers)


def _candidates(name: str) -> Iterator[Path]:
    folders = [None, *sorted(map(str, Path(sys.base_prefix).parent.glob("3.*/bin")))]
    for folder in folders:
        if path := shutil.which(name, path=folder):
            yield Path(path)
