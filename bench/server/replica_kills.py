"""Replicas killed at work: what another one then computes of the operation, and its answer.

    python -m bench.server.replica_kills [minutes [method ...]]    go on with the 120 ends
    python -m bench.server.replica_kills --page       write docs/studies/survival.md

Needs redis-server. Rows are added to a table, so it may be ended and run again.
"""

from __future__ import annotations

import itertools
import json
import math
import secrets
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Container, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import onnxplain
from onnxplain.operations import Operation
from onnxplain_server.adapters.access.tokens import new_token, token_line

from bench.server.survival import page, record
from bench.server.survival.record import Record
from bench.server.survival.replica import Replica
from bench.server.survival.requests import REQUESTS
from bench.server.survival.whole import Whole, compared
from bench.shared.redis_process import redis_server

POINTS, REPEATS = (0.1, 0.5, 0.9), 5
LEASE_SECONDS = 2.0
_POLL_SECONDS = 0.02
_CALLERS = 300


class Rig:
    """Two replicas on one Redis. Each operation has a caller of its own, so an empty cache.

    Parameters
    ----------
    url : str
        Of the Redis.
    folder : Path
        For the file of the callers' tokens.
    """

    def __init__(self, url: str, folder: Path) -> None:
        tokens = [new_token() for _ in range(_CALLERS)]
        file = folder / "tokens"
        file.write_text("\n".join(itertools.starmap(token_line, _named(tokens))))
        self._tokens = iter(tokens)
        self._audit_log = folder / "audit"
        self._settings = {
            "redis_url": url,
            "cache_secret": secrets.token_hex(16),
            "tokens_file": file,
            "thread_count": 1,
            "grace_seconds": 0,
            "operations_lease_seconds": LEASE_SECONDS,
            "audit_log": self._audit_log,
        }
        self._replicas = [self._start(), self._start()]

    def close(self) -> None:
        """End the replicas."""
        for each in self._replicas:
            each.end(signal.SIGTERM)

    def _start(self) -> Replica:
        return Replica(**self._settings)

    def whole(self, method: str) -> Whole:
        """Return an operation of the method that was left alone: an earlier one, if one is kept."""
        kept = Whole.kept(method)
        if kept is None:
            with self._replicas[0].client(next(self._tokens)) as client:
                operation = _started(client, method)
                operation.wait(progress=False)
                answer = operation.result(progress=False).message
            line = self._audited(operation)
            planned = int(operation.progress.planned)
            kept = Whole(answer, planned, line["seconds"], line["processor_seconds"])
            kept.keep(method)
        return kept

    def ended(self, method: str, point: float, number: signal.Signals) -> Record:
        """End the replica that computes an operation, and see what the other one makes of it."""
        whole = self.whole(method)
        token = next(self._tokens)
        with ExitStack() as stack:
            clients = [stack.enter_context(each.client(token)) for each in self._replicas]
            name = _started(clients[0], method).name
            lost = self._holder()
            operation = clients[1 - lost].operation(name)
            seconds = _reach(operation, point)
            rows = int(operation.progress.done)
            self._replicas[lost].end(number)
            operation.wait(progress=False)
            answer = operation.result(progress=False).message
        self._replicas[lost] = self._start()
        return Record(
            method=method,
            model=REQUESTS[method].model_name,
            signal=number.name,
            point=point,
            planned_rows=whole.planned_rows,
            lost_rows=rows,
            predicted_rows=int(answer.receipt.predicted_row_count),
            whole_rows=int(whole.answer.receipt.predicted_row_count),
            seconds=round(seconds, 2),
            whole_seconds=whole.seconds,
            whole_processor_seconds=whole.processor_seconds,
            rest_processor_seconds=self._audited(operation)["processor_seconds"],
            attempts=operation.metadata.attempt_count,
            equal=compared(answer, whole.answer),
        )

    def _audited(self, operation: Operation) -> dict[str, Any]:
        """Return the audit line of the attempt that gave the operation's answer."""
        own = operation.name.removeprefix("operations/")
        while True:
            lines = map(json.loads, self._audit_log.read_text().splitlines())
            for line in lines:
                if line.get("operation") == own and line["outcome"] == "OK":
                    return dict(line)
            time.sleep(_POLL_SECONDS)

    def _holder(self) -> int:
        """Wait until a replica computes, and return its number."""
        while True:
            for number, each in enumerate(self._replicas):
                if each.is_computing:
                    return number
            time.sleep(_POLL_SECONDS)


def _named(tokens: list[str]) -> Iterator[tuple[str, str]]:
    return ((f"caller-{number}", token) for number, token in enumerate(tokens))


def _started(client: onnxplain.Client, method: str) -> Operation:
    asked = REQUESTS[method]
    return client.start(
        asked.model,
        asked.table,
        asked.options,
        target_column="y",
        engine="BLACK_BOX",
        plots=False,
        **asked.arguments,
    )


def _reach(operation: Operation, point: float) -> float:
    """Wait until a report says that so much is done; return the seconds since the begin."""
    while True:
        operation.refresh()
        done, planned = operation.progress.done, operation.progress.planned
        if operation.is_done:
            raise SystemExit(f"{operation.name} ended before {point:.0%}")
        if 0 < point * planned <= done:
            begin: float = operation.metadata.start_time.ToNanoseconds() / 1e9
            return time.time() - begin
        time.sleep(_POLL_SECONDS)


def ends() -> Iterator[tuple[str, float, signal.Signals]]:
    """Yield method, point and signal of each end: 120, one in ten by SIGTERM."""
    for repeat in range(REPEATS):
        for i, point in enumerate(POINTS):
            for j, method in enumerate(REQUESTS):
                is_term = repeat == 0 and (i + j) % 2 == 0
                yield method, point, signal.SIGTERM if is_term else signal.SIGKILL


def main(minutes: float, methods: Container[str] = REQUESTS) -> None:
    """Go on with the ends that the table does not have, for so many minutes."""
    until = time.monotonic() + 60 * minutes
    had = Counter((each.method, each.point, each.signal) for each in record.read())
    with ExitStack() as stack:
        url = stack.enter_context(redis_server())
        rig = Rig(url, Path(stack.enter_context(tempfile.TemporaryDirectory())))
        stack.callback(rig.close)
        for method, point, number in ends():
            had[method, point, number.name] -= 1
            if had[method, point, number.name] >= 0 or method not in methods:
                continue
            if time.monotonic() > until:
                break
            found = rig.ended(method, point, number)
            record.append(found)
            print(f"{found.twice:6.1%} {found}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--page"]:
        page.write()
    else:
        main(float(sys.argv[1]) if sys.argv[1:] else math.inf, sys.argv[2:] or REQUESTS)
