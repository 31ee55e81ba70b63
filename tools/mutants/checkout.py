"""Copies of the checkout, each with an environment that imports the copy's code."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path

SOURCES = ("service", "clients/python")
OWN_TESTS = "tests/tools/mutants/"
"""Tests of this tool: they look for the very texts that faults replace."""

_ENVIRONMENT = ".venv"
_PACKAGES = {"site-packages", "dist-packages"}


def copy(root: Path, target: Path) -> None:
    """Copy a checkout as it is, changes that are not committed too, into an empty folder.

    Times of files are kept, and compiled loops come along, so that nothing is compiled again
    but what a fault changes.
    """
    for name in (*_known(root), *_compiled(root)):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, target / name, follow_symlinks=False)
    # Some tests ask git for the files of the project.
    _git(target, "init", "--quiet")
    _git(target, "add", "--all")
    _make_environment(target)


def scripts(checkout: Path) -> Path:
    """Return the folder of programs in a copy's environment."""
    return _path("scripts", checkout)


def commit(root: Path) -> str:
    """Name the state of a checkout."""
    return _git(root, "describe", "--always", "--dirty", "--abbrev=12").strip()


def _known(root: Path) -> Iterator[str]:
    """Give the files that git knows, and those that it does not ignore."""
    listed = _git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in dict.fromkeys(listed.split("\0")):
        if os.path.lexists(root / name) and name and not name.startswith(OWN_TESTS):
            yield name


def _compiled(root: Path) -> Iterator[str]:
    for source in SOURCES:
        for file in (root / source).rglob("__pycache__/*"):
            yield str(file.relative_to(root))


def _git(folder: Path, *arguments: str) -> str:
    # In a container the checkout may belong to someone else, which git must be told to accept.
    command = ["git", "-c", "safe.directory=*", *arguments]
    return subprocess.check_output(command, cwd=folder, text=True)  # noqa: S603 - ours


def _make_environment(checkout: Path) -> None:
    """Share the packages of the running environment, and take the code from the copy."""
    venv.create(checkout / _ENVIRONMENT, symlinks=True)
    packages = [entry for entry in sys.path if Path(entry).name in _PACKAGES]
    paths = [*(str(checkout / source) for source in SOURCES), *packages]
    lines = "".join(f"{path}\n" for path in paths)
    (_path("purelib", checkout) / "packages.pth").write_text(lines, encoding="utf-8")
    ours, theirs = Path(sysconfig.get_path("scripts")), scripts(checkout)
    for script in ours.iterdir():
        if not (theirs / script.name).exists():
            _adopt(script, theirs / script.name)


def _path(kind: str, checkout: Path) -> Path:
    base = str(checkout / _ENVIRONMENT)
    return Path(sysconfig.get_path(kind, "venv", {"base": base, "platbase": base}))


def _adopt(script: Path, target: Path) -> None:
    """Make a program of the running environment one of the copy's."""
    content = script.read_bytes()
    if not content.startswith(b"#!"):
        target.symlink_to(script)
        return
    target.write_bytes(content.replace(os.fsencode(script.parent), os.fsencode(target.parent)))
    shutil.copymode(script, target)
