"""Replicas killed at work: what another one then computes of the operation, and its answer.

    python -m bench.server.replica_kills [minutes [method ...]]    go on with the 120 ends
    python -m bench.server.replica_kills --page       write docs/studies/survival.md

Needs redis-server. Rows are added to a table, so it may be ended and run again.
"""

from __future__ import annotations

import itertools
import math
import secrets
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Container, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxplain
from google.protobuf.message import Message
from onnxplain.operations import Operation
from onnxplain.v1.explanation_service_pb2 import ExplainResponse
from onnxplain_server.adapters.access.tokens import new_token, token_line

from bench.server.redis_process import redis_server
from bench.server.survival import page, record
from bench.server.survival.record import Record
from bench.server.survival.replica import Replica
from bench.server.survival.requests import REQUESTS

POINTS, REPEATS = (0.1, 0.5, 0.9), 5
LEASE_SECONDS = 2.0
_POLL_SECONDS = 0.01
_TOLERANCE = 1e-9
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
        self._settings = {
            "redis_url": url,
            "cache_secret": secrets.token_hex(16),
            "tokens_file": file,
            "thread_count": 1,
            "grace_seconds": 0,
            "operations_lease_seconds": LEASE_SECONDS,
        }
        self._replicas = [self._start(), self._start()]
        self._wholes: dict[str, tuple[Record, ExplainResponse]] = {}

    def close(self) -> None:
        """End the replicas."""
        for each in self._replicas:
            each.end(signal.SIGTERM)

    def _start(self) -> Replica:
        return Replica(**self._settings)

    def whole(self, method: str) -> tuple[Record, ExplainResponse]:
        """Return an operation of the method that was left alone, and its answer."""
        if method not in self._wholes:
            self._wholes[method] = self._left_alone(method)
        return self._wholes[method]

    def _left_alone(self, method: str) -> tuple[Record, ExplainResponse]:
        token = next(self._tokens)
        before = self._processor_seconds()
        with self._replicas[0].client(token) as client:
            operation = _started(client, method)
            operation.wait(progress=False)
            answer = operation.result(progress=False).message
        spent = self._processor_seconds() - before
        rows, seconds = int(answer.receipt.predicted_row_count), _elapsed(answer)
        return Record(
            *(method, REQUESTS[method].model_name, "", 0.0),
            *(int(operation.progress.planned), 0, rows, rows, seconds, seconds),
            *(0.0, spent, spent, operation.metadata.attempt_count, "bits"),
        ), answer

    def _processor_seconds(self) -> float:
        return sum(each.processor_seconds() for each in self._replicas)

    def ended(self, method: str, point: float, number: signal.Signals) -> Record:
        """End the replica that computes an operation, and see what the other one makes of it."""
        whole, expected = self.whole(method)
        token = next(self._tokens)
        starts = [each.processor_seconds() for each in self._replicas]
        with ExitStack() as stack:
            clients = [stack.enter_context(each.client(token)) for each in self._replicas]
            name = _started(clients[0], method).name
            lost = self._holder()
            operation = clients[1 - lost].operation(name)
            seconds = _reach(operation, point)
            processor = self._replicas[lost].processor_seconds() - starts[lost]
            rows = int(operation.progress.done)
            self._replicas[lost].end(number)
            operation.wait(progress=False)
            answer = operation.result(progress=False).message
        rest = self._replicas[1 - lost].processor_seconds() - starts[1 - lost]
        self._replicas[lost] = self._start()
        return replace(
            whole,
            signal=number.name,
            point=point,
            lost_rows=rows,
            predicted_rows=int(answer.receipt.predicted_row_count),
            seconds=seconds,
            rest_seconds=_elapsed(answer),
            lost_processor_seconds=processor,
            rest_processor_seconds=rest,
            attempts=operation.metadata.attempt_count,
            equal=_compared(answer, expected),
        )

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


def _elapsed(answer: ExplainResponse) -> float:
    return float(answer.receipt.elapsed.ToTimedelta().total_seconds())


def _compared(answer: ExplainResponse, expected: ExplainResponse) -> str:
    """Return how the explanations are equal; "different" if they are not."""
    if _bits(answer) == _bits(expected):
        return "bits"
    may_round = bool(answer.receipt.size_dependent_operators)
    pairs = zip(_leaves(answer.explanations), _leaves(expected.explanations), strict=True)
    return "1e-9" if may_round and all(itertools.starmap(_is_close, pairs)) else "different"


def _bits(answer: ExplainResponse) -> bytes:
    return b"".join(each.SerializeToString(deterministic=True) for each in answer.explanations)


def _leaves(value: object) -> Iterator[object]:
    """Yield all numbers and texts of messages."""
    if isinstance(value, Message):
        for field, content in value.ListFields():
            yield field.name
            yield from _leaves(content)
    elif isinstance(value, (str, bytes, int, float)):
        yield value
    else:
        for each in value:  # type: ignore[attr-defined]
            yield from _leaves(each)


def _is_close(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return bool(np.isclose(one, other, rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True))
    return one == other


def ends() -> Iterator[tuple[str, float, signal.Signals]]:
    """Yield method, point and signal of each end: 120, one in ten by SIGTERM."""
    for repeat in range(REPEATS):
        for i, point in enumerate(POINTS):
            for j, method in enumerate(REQUESTS):
                is_term = repeat == REPEATS - 1 and (i + j) % 2 == 0
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
