"""The history of a run: what was asked and answered, what was broken, what was seen; JSON lines.

Files in the folder of a run:

run.json           what was asked of the run itself
reference.jsonl    the right answers
calls-*.jsonl      one line per call, written by the client process that made it
answers/           each distinct answer once, named by its digest
faults.jsonl       one line per fault, when it has been mended
probes.jsonl       health of each replica
samples.jsonl      memory, descriptors, threads and the like, each second
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

_Line = TypeVar("_Line")


@dataclass(frozen=True)
class Call:
    """One call as its caller saw it, with its retry if there was one.

    Attributes
    ----------
    surface : str
        How it was made, like "grpc" or "rest-multipart".
    manner : str
        "whole"; "operation", which is one with all calls about it; or "cancelled", "hurried" or
        "hostile", which need not be answered.
    case : str
        What was asked; the name of a reference answer, or of a hostile model.
    start, end : float
        Seconds of the clock that all processes of a machine share.
    outcome : str
        "answer", "error" or "left".
    digest : str
        Of the answer.
    reason, message : str
        Of the error.
    origin : str
        Who made the error: "server", or "way" where no server's words came back.
    attempts : int
        How often it was sent; 0 where only the client knows.
    seconds : float
        The deadline that it was given.
    looks : list of str
        Of an operation: what was seen of it after its end, and the name that each start returned.
    """

    surface: str
    manner: str
    case: str
    start: float
    end: float
    outcome: str
    digest: str = ""
    reason: str = ""
    message: str = ""
    origin: str = ""
    attempts: int = 0
    seconds: float = 0.0
    looks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Fault:
    """Something that was broken on purpose, from its start until all was well again.

    Attributes
    ----------
    kind : str
        Name in the list of faults.
    target : str
        What it was done to.
    start, healed, end : float
        When it was done, undone, and when every replica was ready again.
    """

    kind: str
    target: str
    start: float
    healed: float
    end: float


@dataclass(frozen=True)
class Probe:
    """What a replica said of its health; `status` 0 where it did not answer."""

    replica: str
    time: float
    path: str
    status: int
    seconds: float


@dataclass(frozen=True)
class Sample:
    """Sizes at one moment; `life` names a process' life, so that restarts begin a new one."""

    time: float
    life: str
    values: dict[str, float] = field(default_factory=dict)


class Writer:
    """Appends lines to a file, each of them whole even if the run is ended at once."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("a", encoding="utf-8", buffering=1)

    def write(self, line) -> None:
        """Append a dataclass."""
        self._file.write(json.dumps(asdict(line)) + "\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read(folder: Path, pattern: str, kind: type[_Line]) -> list[_Line]:
    """Read the lines of all files of that name; a last line that was cut off is left out."""
    found: list[_Line] = []
    for file in sorted(folder.glob(pattern)):
        found += [kind(**line) for line in _lines(file)]
    return found


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    for line in file.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.endswith("\n"):
            yield json.loads(line)


def keep(folder: Path, name: str, content: bytes) -> None:
    """Store an answer under its digest, once; several processes may do so at the same time."""
    place = folder / "answers" / f"{name}.json"
    if not place.exists():
        part = place.with_suffix(f".{os.getpid()}")
        part.write_bytes(content)
        part.replace(place)


def kept(folder: Path, name: str) -> dict[str, Any]:
    """Read an answer."""
    answer: dict[str, Any] = json.loads((folder / "answers" / f"{name}.json").read_bytes())
    return answer
