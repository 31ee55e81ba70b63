"""Tests that a change can reach by imports, the nearest first.

    python -m tools.testing.changed [--distance N] [--list] [BASE]

Changed are the files that differ from BASE (main, unless given), and those that git does not know.
A test file is as far from a changed module as the imports between them are long: 0 where it, a
conftest or a module of tests that it imports names the module itself. Files up to the distance
run, 1 unless given; how many lie further away is told, and `make test` runs them all.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import grimp

from tools.testing import again

ROOT = Path(__file__).parents[2]
_PACKAGES = {"onnxplain_server": "service", "onnxplain": "clients/python"}
_LOOSE = ("tools", "bench", "examples")
"""Folders whose modules tests import by their path."""

_TESTS = "tests"
_COLLECTED = "test_*.py"


@dataclass(frozen=True, slots=True)
class Reach:
    """Test files by their distance from a change, and changed files that no test imports.

    Attributes
    ----------
    distances : mapping of Path to int
    unknown : tuple of str
        Paths that are neither modules nor tests: data, documents, tools.
    """

    distances: Mapping[Path, int]
    unknown: tuple[str, ...]

    def within(self, distance: int) -> list[Path]:
        """Return the files up to a distance, the nearest first."""
        near = [file for file, steps in self.distances.items() if steps <= distance]
        return sorted(near, key=lambda file: (self.distances[file], file))


def changed_files(root: Path, base: str) -> list[str]:
    """Return paths that differ from the merge base with `base`, or that git does not know."""
    merge_base = _git(root, "merge-base", base, "HEAD").strip()
    differing = _git(root, "diff", "--name-only", "--no-renames", merge_base)
    new = _git(root, "ls-files", "--others", "--exclude-standard")
    return sorted({*differing.splitlines(), *new.splitlines()})


def reach(root: Path, files: Sequence[str]) -> Reach:
    """Find the test files that import changed modules, or have themselves changed."""
    modules = sorted({name for file in files if (name := _module(file))})
    helpers = {root / file for file in files if file.startswith(f"{_TESTS}/")}
    unknown = [f for f in files if not _module(f) and not f.startswith(f"{_TESTS}/")]
    steps = _steps(modules)
    distances = {}
    for test in sorted((root / _TESTS).rglob(_COLLECTED)):
        sources = _sources(root, test)
        near = [steps[name] for source in sources for name in _imports(source) if name in steps]
        if helpers & sources:
            near.append(0)
        if near:
            distances[test] = min(near)
    return Reach(distances, tuple(unknown))


def _module(file: str) -> str:
    """Return the name of the module of a package; empty where the file is none."""
    path = Path(file)
    homes = [home for name, home in _PACKAGES.items() if file.startswith(f"{home}/{name}/")]
    if path.suffix != ".py" or not (homes or path.parts[0] in _LOOSE):
        return ""
    parts = path.relative_to(*homes).with_suffix("").parts if homes else path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _steps(modules: Iterable[str]) -> dict[str, int]:
    """Return how many imports lie between each module and the nearest changed one."""
    graph = _graph()
    steps = dict.fromkeys(modules, 0)
    front = [name for name in modules if name in graph.modules]
    while front:
        importers = {up for name in front for up in graph.find_modules_that_directly_import(name)}
        front = [name for name in importers if name not in steps]
        steps |= dict.fromkeys(front, 1 + max(steps.values()))
    return steps


@cache
def _graph() -> grimp.ImportGraph:
    return grimp.build_graph(*_PACKAGES)


def _sources(root: Path, test: Path) -> set[Path]:
    """Return a test file, its conftests, and the modules of tests that they import."""
    folders = [folder for folder in test.parents if folder.is_relative_to(root / _TESTS)]
    conftests = [folder / "conftest.py" for folder in folders]
    found, front = set(), [test, *(path for path in conftests if path.exists())]
    while front:
        source = front.pop()
        found.add(source)
        named = {_helpers(root).get(name.partition(".")[0]) for name in _imports(source)}
        front += [path for path in named if path is not None and path not in found]
    return found


@cache
def _helpers(root: Path) -> Mapping[str, Path]:
    """Return the modules that test files share, by name."""
    files = (root / _TESTS).rglob("*.py")
    return {file.stem: file for file in files if not file.match(_COLLECTED)}


@cache
def _imports(source: Path) -> frozenset[str]:
    """Return the names of modules, or of what is taken from them, that a file imports."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    return frozenset(name for node in ast.walk(tree) for name in _names(node))


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _git(root: Path, *arguments: str) -> str:
    return subprocess.check_output(["git", *arguments], cwd=root, text=True)  # noqa: S603, S607 - ours


def main(arguments: Sequence[str]) -> int:
    """Run the command line."""
    asked = _parser().parse_args(arguments)
    found = reach(ROOT, changed_files(ROOT, asked.base))
    near = [str(file.relative_to(ROOT)) for file in found.within(asked.distance)]
    rest = len(found.distances) - len(near)
    _tell(
        f"{len(near)} test files are near what changed; {rest} reach it by longer ways: make test"
    )
    if found.unknown:
        _tell(f"no import leads to: {', '.join(found.unknown)}")
    if asked.list or not near:
        _tell("\n".join(near))
        return 0
    return again.main(["--numprocesses=auto", "--dist=worksteal", *near])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.testing.changed", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "base", nargs="?", default="main", metavar="BASE", help="a commit or branch"
    )
    parser.add_argument("--distance", type=int, default=1, metavar="N", help="imports between")
    parser.add_argument("--list", action="store_true", help="name the files, and run none")
    return parser


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
