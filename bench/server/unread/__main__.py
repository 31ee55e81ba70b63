"""Readers that never read, and senders that drip: writes the table of docs/threat-model.md.

    python -m bench.server.unread [SECONDS] [CASE ...]

With cases, such as "REST events, 64, 60" (surface, callers, MB), these alone are printed.

On each surface, 8, 64 and 256 callers with replies or bodies of about 1 and 60 MB, without a
deadline, and 64 with one of 10 s. Told are memory of the serving process and its files beyond its
rest, at most and at the end, and the 99th percentile of another caller's small calls. It
asks a second server, which has no other callers, in turns: both share the machine, with all that
runs on it. Needs redis-server.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path

import grpc
import numpy as np
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceStub

from bench.server.server_process import Server, served
from bench.server.unread.asked import request
from bench.server.unread.surfaces import (
    OF_OPERATIONS,
    SURFACES,
    Case,
    ended_operation,
)
from bench.shared.redis_process import redis_server
from tools.figures import stamp

CALLER_COUNTS, MEGABYTES = (8, 64, 256), (1, 60)
DEADLINE_CALLERS, DEADLINE_SECONDS = 64, 10.0
ROOMS = ("transport", "adapters")
PAGE = Path(__file__).parents[3] / "docs" / "threat-model.md"
BEGIN, END = "<!-- By bench.server.unread -->\n", "<!-- End of what waits -->\n"
_MB_BYTES, _MIB = 10**6, 2**20
_SECRET = "0123456789abcdef"  # noqa: S105 - of the measurement's own Redis
_HEAD = (
    "| Surface | Callers | MB each | Deadline | Memory, MiB: most, end | Files, MiB: most, end "
    "| p99 of another caller, ms: at a quiet server, at this one | Ratio | Refused |\n"
    "|---|--:|--:|--:|--:|--:|--:|--:|--:|"
)


@dataclass(slots=True)
class Watched:
    """Memory and files of a server, in MiB: at most, and now."""

    server: Server
    rest: float = 0.0
    memory: float = 0.0
    files: float = 0.0

    def look(self) -> tuple[float, float]:
        """Return both, and note them."""
        memory, files = memory_mib(self.server) - self.rest, files_mib(self.server)
        self.memory, self.files = max(memory, self.memory), max(files, self.files)
        return memory, files


def main(told_seconds: str = "180", *chosen: str) -> None:
    """Print a line for each case, and write the page if these are all."""
    seconds = float(told_seconds)
    print(_HEAD)
    lines = []
    loads = [os.getloadavg()[0]]
    for line in _lines(seconds, chosen):
        print(line, flush=True)
        lines.append(line)
        loads.append(os.getloadavg()[0])
    if chosen:
        print(f"Load: {min(loads):.0f} to {max(loads):.0f}.")
        return
    measured = (
        f"Each case was watched for {seconds:.0f} s, on {os.cpu_count()} cores whose load was "
        f"{min(loads):.0f} to {max(loads):.0f}, with that of the measurement."
    )
    table = "\n".join(["", stamp(ROOMS), measured, "", _HEAD, *lines, ""])
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}{table}\n{END}{after}", encoding="utf-8")


def _lines(seconds: float, chosen: Sequence[str]) -> Iterator[str]:
    without = [(count, size, None) for count in CALLER_COUNTS for size in MEGABYTES]
    for surface in SURFACES:
        for count, size, deadline in (
            *without,
            (DEADLINE_CALLERS, MEGABYTES[-1], DEADLINE_SECONDS),
        ):
            limit = "" if deadline is None else f"{deadline:.0f} s"
            case = ", ".join(filter(None, (surface, str(count), str(size), limit)))
            if chosen and case not in chosen:
                continue
            told = _measure(surface, count, size * _MB_BYTES, deadline, seconds)
            yield f"| {surface} | {count} | {size} | {limit} | {told} |"


def _measure(
    surface: str,
    count: int,
    byte_count: int,
    deadline: float | None,
    seconds: float,
) -> str:
    with ExitStack() as opened:
        server = opened.enter_context(_served(opened, surface))
        name = ended_operation(server, surface, byte_count) if surface in OF_OPERATIONS else ""
        case = Case(server, byte_count, deadline, name)
        quiet = opened.enter_context(served())
        _percentiles((quiet, server), 0.0)  # what is first at a server takes longer
        watched = Watched(server, memory_mib(server))
        is_over = threading.Event()

        def watch() -> None:
            while not is_over.wait(0.2):
                watched.look()

        def call(_number: int) -> None:
            with suppress(OSError):
                opened.enter_context(closing(SURFACES[surface](case)))

        watcher = threading.Thread(target=watch)
        watcher.start()
        callers = ThreadPoolExecutor(count)
        callers.map(call, range(count))
        (alone, beside), refused_count = _percentiles((quiet, server), seconds)
        is_over.set()
        watcher.join()
        memory, files = watched.look()
        opened.callback(callers.shutdown, wait=False, cancel_futures=True)
        return (
            f"{watched.memory:.0f}, {memory:.0f} | {watched.files:.0f}, {files:.0f} "
            f"| {alone:.0f}, {beside:.0f} | {beside / alone:.1f} | {refused_count}"
        )


def _served(opened: ExitStack, surface: str) -> AbstractContextManager[Server]:
    if surface not in OF_OPERATIONS:
        return served()
    return served(redis_url=opened.enter_context(redis_server()), cache_secret=_SECRET)


def _percentiles(servers: Sequence[Server], seconds: float) -> tuple[list[float], int]:
    """Return the 99th percentiles of small calls, in turns, in ms; and how many were refused."""
    asked, refused_count = request(0), 0
    times: list[list[float]] = [[] for _ in servers]
    end = time.monotonic() + seconds
    with ExitStack() as opened:
        channels = [opened.enter_context(grpc.insecure_channel(each.endpoint)) for each in servers]
        stubs = list(map(ExplanationServiceStub, channels))
        while not all(times) or time.monotonic() < end:
            for stub, taken in zip(stubs, times, strict=True):
                start = time.monotonic()
                try:
                    stub.Explain(asked)
                except grpc.RpcError:
                    refused_count += 1
                else:
                    taken.append(1_000 * (time.monotonic() - start))
    return [float(np.percentile(taken, 99)) for taken in times], refused_count


def memory_mib(server: Server) -> float:
    """Return the memory of the serving process, in MiB."""
    status = Path(f"/proc/{server.pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1_024


def files_mib(server: Server) -> float:
    """Return the size of files that the server has deleted and holds open, in MiB."""
    byte_count = 0
    for file in Path(f"/proc/{server.pid}/fd").iterdir():
        with suppress(OSError):
            name = str(file.readlink())
            if name.endswith("(deleted)") and not name.startswith("/memfd:"):
                byte_count += file.stat().st_size
    return byte_count / _MIB


if __name__ == "__main__":
    main(*sys.argv[1:])
