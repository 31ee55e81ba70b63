"""Profile hook: counts calls of own functions in a process, and writes the counts to shared memory.

Loaded by a `sitecustomize` in each process of a walk. Workers inherit the memory, since they can
open no file; they write before they answer. Counting begins and ends with the first byte.
"""

from __future__ import annotations

import atexit
import inspect
import json
import mmap
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeAlias

IDLE, COUNTING, WRITING = 0, 1, 2
SLOT_BYTES, SLOT_COUNT = 2**20, 16
MEMORY_BYTES = (1 + SLOT_COUNT) * SLOT_BYTES

_OWN = ("/service/onnxplain_server/", "/clients/python/onnxplain/")
_NUMBER = "/service/onnxplain_server/methods/"
_COMPUTE = {"compute", "from_forest", "from_training_data"}
"""Code that computes, and its functions: the first call of one is where a question arrives."""
_SENT = "send_packed_command"
"""Function of redis-py that writes to the socket: once for each round trip, batched or not."""
_POLLING = "/adapters/storage/operations/"
"""Code that asks Redis several times a second whether there is an operation to run."""

SHAPES = frozenset(
    {
        *("ExplainRequest", "Body", "RequestParts", "RequestFile", "Call"),
        *("WorkerRequest", "Asked", "Question", "Resources", "BoundRequest", "Task", "Job"),
        *("ModelFile", "TableFile", "File", "PendingRequest", "ArenaReader"),
    }
)
"""Names of classes that carry a request or one of its files, as arguments and results."""

Place: TypeAlias = tuple[str, str]


@dataclass
class Counts:
    """Counts of one process.

    Attributes
    ----------
    call_count, call_count_before, hand_count, depth : int
        Calls of own functions: all; those before the first one that computes; those among them
        that take a class of `SHAPES`; own frames on its stack. Where nothing computes, all that
        take one count.
    functions : list of (str, str)
        File and name of each that was called.
    shapes : list of str
    round_trip_count : int
    """

    call_count: int = 0
    call_count_before: int = 0
    hand_count: int = 0
    depth: int = 0
    functions: list[Place] = field(default_factory=list)
    shapes: list[str] = field(default_factory=list)
    round_trip_count: int = 0


class Hook:
    """Hook for `sys.setprofile` in all threads of this process and of those that it forks.

    Parameters
    ----------
    path : Path
        File of the shared memory.
    """

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), MEMORY_BYTES)
        self._kinds: dict[CodeType, str] = {}
        self._reset()

    def install(self) -> None:
        """Watch each thread that begins from now on, and this one."""
        atexit.register(self._write)
        threading.Thread(target=self._wait, daemon=True).start()
        threading.setprofile(self)
        sys.setprofile(self)

    def __call__(self, frame: FrameType, event: str, result: Any) -> None:
        """Count a call; look at arguments and results for the shapes of a request."""
        if self._memory[0] != COUNTING or event not in {"call", "return"}:
            return
        code = frame.f_code
        kind = self._kinds.get(code) or self._kinds.setdefault(code, _kind(code))
        if kind == "other":
            return
        if event == "return":
            self._shapes |= {type(result).__name__} & SHAPES
            if kind == "answer":
                self._write()
            return
        if kind == "sent":
            polls = any(_POLLING in each.f_code.co_filename for each in _stack(frame))
            self._counts.round_trip_count += not polls
            return
        self._functions.add(code)
        self._counts.call_count += 1
        given = frame.f_locals  # of a compiled loop, whose frame numba makes up, it is empty
        kinds = {type(given.get(name)).__name__ for name in _arguments(code)} & SHAPES
        self._shapes |= kinds
        self._counts.hand_count += bool(kinds and not self._counts.depth)
        if kind == "number" and not self._counts.depth:
            self._counts.call_count_before = self._counts.call_count
            self._counts.depth = sum(1 for each in _stack(frame) if _is_own(each.f_code))

    def _reset(self) -> None:
        self._counts, self._shapes = Counts(), set[str]()
        self._functions: set[CodeType] = set()

    def _wait(self) -> None:
        """Write what the process counted each time that a walk ends: a server goes on."""
        while True:
            if self._memory[0] == WRITING:
                self._write()
            time.sleep(0.05)

    def _write(self) -> None:
        if not self._counts.call_count:
            return
        self._counts.functions = [(c.co_filename, c.co_qualname) for c in self._functions]
        self._counts.shapes = sorted(self._shapes)
        text = json.dumps(asdict(self._counts)).encode()
        starts = range(SLOT_BYTES, MEMORY_BYTES, SLOT_BYTES)
        start = next(at for at in starts if not any(self._memory[at : at + 4]))
        self._memory[start : start + 4 + len(text)] = len(text).to_bytes(4, "big") + text
        self._reset()


def read(memory: mmap.mmap) -> Iterator[Counts]:
    """Yield what each process wrote."""
    for start in range(SLOT_BYTES, MEMORY_BYTES, SLOT_BYTES):
        length = int.from_bytes(memory[start : start + 4], "big")
        if length:
            yield Counts(**json.loads(memory[start + 4 : start + 4 + length]))


def _kind(code: CodeType) -> str:
    if code.co_name == _SENT:
        return "sent"
    if not _is_own(code):
        return "other"
    if _NUMBER in code.co_filename and code.co_name in _COMPUTE:
        return "number"
    is_answer = code.co_qualname == "_RequestLoop._compute"
    return "answer" if is_answer else "own"


def _is_own(code: CodeType) -> bool:
    """Return whether it is a function of ours: bodies of modules and classes are none."""
    is_function = bool(code.co_flags & inspect.CO_OPTIMIZED)
    return is_function and any(folder in code.co_filename for folder in _OWN)


def _arguments(code: CodeType) -> tuple[str, ...]:
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back
