"""Callers: threads that explain a model all the time, and compare every answer with their own."""

from __future__ import annotations

import itertools
import json
import operator
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxplain
import urllib3

MODEL = Path(__file__).parents[3] / "examples/iris/xgboost.onnx"
PATIENCE = 300.0

_GENERATOR = np.random.default_rng(0)
TABLE = {f"f{number}": _GENERATOR.normal(3.0, 2.0, 200).tolist() for number in range(4)}

Ask = Callable[[int], Any]
"""Explain with this seed."""


@dataclass(frozen=True, slots=True)
class Caller:
    """One who asks, with the right answers by seed."""

    ask: Ask
    references: Sequence[Any]


class Callers:
    """Threads that ask in a loop, until their context ends.

    Attributes
    ----------
    answer_counts : list of int
        Right answers of each caller so far.
    faults : list of str
        Failed calls and wrong answers.
    """

    def __init__(self, callers: Sequence[Caller]) -> None:
        self._stop = threading.Event()
        self.answer_counts = [0] * len(callers)
        self.faults: list[str] = []
        self._threads = [
            threading.Thread(target=self._run, args=(number, caller), daemon=True)
            for number, caller in enumerate(callers)
        ]

    def __enter__(self) -> Callers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    def wait_answers(self, count: int = 2) -> None:
        """Wait until each caller got so many more answers."""
        least = [before + count for before in self.answer_counts]
        end = time.monotonic() + PATIENCE
        while any(map(operator.lt, self.answer_counts, least)):
            assert not self.faults, self.faults
            assert time.monotonic() < end, (self.answer_counts, least)
            time.sleep(0.05)

    def _run(self, number: int, caller: Caller) -> None:
        for seed in itertools.cycle(range(len(caller.references))):
            if self._stop.is_set():
                return
            started = time.strftime("%H:%M:%S")
            try:
                found = caller.ask(seed)
            except Exception as error:  # noqa: BLE001 - whatever a caller would see
                self.faults.append(f"caller {number}, from {started}: {error!r}")
                continue
            if np.allclose(found, caller.references[seed]):
                self.answer_counts[number] += 1
            else:
                self.faults.append(f"caller {number}, from {started}: {found} for seed {seed}")


def by_client(client: onnxplain.Client, row_count: int, progress: Any = False) -> Ask:
    """Ask by the Python client: how much interacts, by prediction, for so many rows."""

    def ask(seed: int) -> Any:
        found = client.explain(
            str(MODEL),
            TABLE,
            onnxplain.Interactions(),
            row_count=row_count,
            seed=seed,
            engine="BLACK_BOX",
            progress=progress,
        )
        return found.interactions.total.values

    return ask


def by_rest(url: str, row_count: int, pool: urllib3.PoolManager | None = None) -> Ask:
    """Ask by REST and never again; over a connection of its own, unless there is a pool."""
    body = {
        "model": {"content": b64encode(MODEL.read_bytes()).decode()},
        "dataframe_split": {
            "columns": list(TABLE),
            "data": np.column_stack(list(TABLE.values())).tolist(),
        },
        "methods": [{"interactions": {}}],
        "rowCount": row_count,
        "engine": "BLACK_BOX",
    }

    def ask(seed: int) -> Any:
        reply = (pool or urllib3.PoolManager(retries=False)).request(
            "POST",
            f"{url}/v1/explanations",
            body=json.dumps({**body, "seed": seed}),
            headers={"Content-Type": "application/json"}
            | ({} if pool else {"Connection": "close"}),
            timeout=PATIENCE,
        )
        if reply.status != 200:
            raise RuntimeError(f"{reply.status} {reply.data.decode()[:300]}")
        explanations = onnxplain.Explanations.from_json(reply.data.decode())
        return explanations.interactions.total.values

    return ask
