"""The table of faults: where each is planted, and which tests are of the same room."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("faults.toml")

_LUA_COMMENT = re.compile(r"--.*")


class TableError(Exception):
    """A table that does not fit the code; the message names each fault, and why."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A programmer's fault, as a replacement of text.

    Attributes
    ----------
    name : str
    file : str
        Path from the root of the checkout.
    kind : str
        Like "off by one".
    effect : str
        The change that a user, an operator or an attacker would notice.
    text, replacement : str
        The text occurs exactly once in the file.
    """

    name: str
    file: str
    kind: str
    effect: str
    text: str
    replacement: str

    def plant(self, root: Path) -> None:
        """Put the fault into a copy of the checkout; TableError where it does not fit."""
        if problem := _problem(self, root):
            raise TableError(f"{self.name}: {problem}")
        file = root / self.file
        source = file.read_text(encoding="utf-8")
        file.write_text(source.replace(self.text, self.replacement), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Table:
    """Faults, and the folders of tests that belong to a part of the code.

    Attributes
    ----------
    faults : tuple of Fault
    rooms : mapping of str to sequence of str
        Folders of tests by the beginning of the faults' files.
    """

    faults: tuple[Fault, ...]
    rooms: Mapping[str, Sequence[str]]

    def room(self, fault: Fault) -> str:
        """Return the longest beginning of the fault's file that is a room; empty where none is."""
        fitting = [room for room in self.rooms if fault.file.startswith(room)]
        return max(fitting, key=len, default="")

    def tests(self, fault: Fault, root: Path) -> list[str]:
        """Return those folders of the room's tests that exist."""
        return [folder for folder in self.rooms[self.room(fault)] if (root / folder).is_dir()]

    def chosen(self, names: Sequence[str]) -> Table:
        """Return a table of the named faults; of all, where no name is given."""
        known = {fault.name: fault for fault in self.faults}
        if unknown := [name for name in names if name not in known]:
            message = f"no fault is named {', '.join(unknown)}; there are {', '.join(known)}"
            raise TableError(message)
        return Table(tuple(known[name] for name in names or known), self.rooms)

    def check(self, root: Path) -> None:
        """Raise TableError where a fault does not fit the code, or a room has none."""
        problems = list(self._problems(root))
        if problems:
            raise TableError("; ".join(problems))

    def _problems(self, root: Path) -> Iterator[str]:
        for name, count in Counter(fault.name for fault in self.faults).items():
            if count > 1:
                yield f"{name}: {count} faults have this name"
        filled = {self.room(fault) for fault in self.faults}
        yield from (f"{room}: the room has no fault" for room in self.rooms if room not in filled)
        for fault in self.faults:
            if not self.room(fault):
                yield f"{fault.name}: {fault.file} is in no room"
            if problem := _problem(fault, root):
                yield f"{fault.name}: {problem}"


def read(file: Path = FILE) -> Table:
    """Read a table."""
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    return Table(tuple(Fault(**entry) for entry in document["fault"]), document["rooms"])


def _problem(fault: Fault, root: Path) -> str:
    """Say why a fault cannot be planted; empty where it can."""
    file = root / fault.file
    if not file.is_file():
        return f"there is no file {fault.file}"
    source = file.read_text(encoding="utf-8")
    if (count := source.count(fault.text)) != 1:
        return f"its text occurs {count} times in {fault.file}; it must occur once"
    changed = source.replace(fault.text, fault.replacement)
    try:
        is_same = _meaning(file, changed) == _meaning(file, source)
    except SyntaxError as error:
        return f"with it, {fault.file} is no Python: {error.msg}"
    return f"with it, {fault.file} means the same" if is_same else ""


def _meaning(file: Path, source: str) -> str:
    """Return what is left of a source without its comments and layout."""
    if file.suffix == ".py":
        return ast.dump(ast.parse(source))
    return " ".join(_LUA_COMMENT.sub("", source).split())
