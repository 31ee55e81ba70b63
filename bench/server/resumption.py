"""Kills of a process at work, by SIGKILL, and what the next one finds in the cache: 132 of them.

Each process is forked, explains a network of float32 by one method, and kills itself once it has
predicted a share of the rows. Its cache are files. The next process has calls of another size and
another number of threads; the rows of both are counted, and their answer is compared by its bits.
"""

from __future__ import annotations

import os
import pickle
import signal
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from onnxplain_server.adapters.onnx import load
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.table import Table
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.effects.recording import journal
from onnxplain_server.explain import BoundTable, Question, Resources, explain
from onnxplain_server.explain.question import Engine
from onnxplain_server.methods import (
    firm,
    individual_conditional_expectation,
    interactions,
    partial_dependence,
    permutation_importance,
    swarm,
)
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.resampling import Resampling
from onnxplain_server.trees.reading.refusal import Refusal

from bench.shared.network import network

ROWS, NAMES = 150, ("a", "b", "c", "d")
SHARES = (0.1, 0.5, 0.9)
SETTINGS = ((1, 16), (1, 208), (2, 48), (4, 1024))
"""Threads, and rows of a call, of the process that is killed."""
SEARCHED = swarm.SearchSettings(particle_count=4, iteration_count=6)
EVOLUTION = swarm.Search.DIFFERENTIAL_EVOLUTION
METHODS: Mapping[str, Any] = {
    "interactions": interactions.Options(threeway_feature_count=3),
    "interactions, replicates": interactions.Options(resampling=Resampling(repeat_count=20)),
    "interactions, knots": interactions.Options(knot_count=8),
    "partial dependence": partial_dependence.Options(),
    "partial dependence, pair": partial_dependence.Options(features=(("a", "b"),)),
    "individual curves": individual_conditional_expectation.Options(),
    "permutation importance": permutation_importance.Options(repeat_count=20),
    "swarm": swarm.Options(loss=Loss.SQUARED_ERROR, search_settings=SEARCHED),
    "swarm, evolution": swarm.Options(
        loss=Loss.SQUARED_ERROR, search=EVOLUTION, search_settings=SEARCHED
    ),
    "swarm, wide": swarm.Options(
        loss=Loss.SQUARED_ERROR, search_settings=swarm.SearchSettings(12, 8)
    ),
    "firm": firm.Options(estimator=firm.Estimator.TAYLOR),
}


class FileHost:
    """Host whose cache is a folder: what is written outlives the process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def advance(self, done: float, planned: float) -> None:
        """Go on."""

    def single_flight(self, _name: str) -> AbstractContextManager[bool]:
        return nullcontext(enter_result=True)

    def cache_get(self, names: Sequence[str]) -> Sequence[bytes | None]:
        paths = [self._folder / name for name in names]
        return [path.read_bytes() if path.exists() else None for path in paths]

    def cache_put(self, entries: Mapping[str, bytes]) -> None:
        for name, value in entries.items():
            part = self._folder / f"{name}.{threading.get_ident()}"
            part.write_bytes(value)
            part.replace(self._folder / name)


class DeadlyModel:
    """Model that kills its process where that would predict more than so many rows."""

    def __init__(self, content: bytes, deadly: float) -> None:
        self._model = load(content)
        self._deadly = deadly
        self._lock = threading.Lock()
        self.predicted = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def predict(self, feeds: Mapping[str, Array]) -> Array:
        self._count(len(next(iter(feeds.values()))))
        return self._model.predict(feeds)

    def on_buffers(self, buffers: Mapping[str, Array]) -> Callable[[slice], Array]:
        predict = self._model.on_buffers(buffers)

        def counted(rows: slice) -> Array:
            self._count(rows.stop - rows.start)
            return predict(rows)

        return counted

    def _count(self, rows: int) -> None:
        with self._lock:
            if self.predicted + rows > self._deadly:
                Path(os.environ["ROWS_FILE"]).write_text(str(self.predicted))
                os.kill(os.getpid(), signal.SIGKILL)
            self.predicted += rows


class SlowPace(BatchSize):
    """Calls of so many rows, of a model that takes a millisecond for each."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self._rows = rows

    def current(self) -> int:
        return self._rows

    def rows_in(self, seconds: float) -> int:
        return int(seconds * 1_000)

    def record(self, size: int, rows: int, seconds: float) -> None:
        """Learn nothing."""


def attempt(folder: Path, method: Any, threads: int, size: int, deadly: float) -> Any:
    """Explain in a process of its own: (rows predicted, bits of the answer, None if killed)."""
    os.environ["ROWS_FILE"] = str(folder / "rows")
    result = folder / "result"
    result.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        try:
            result.write_bytes(pickle.dumps(_explain(folder, method, threads, size, deadly)))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    if result.exists():
        return pickle.loads(result.read_bytes())  # noqa: S301 - written above
    return int((folder / "rows").read_text()), None


def _explain(folder: Path, method: Any, threads: int, size: int, deadly: float) -> Any:
    random = np.random.default_rng(0)
    columns = {name: random.normal(size=ROWS) for name in NAMES[:2]}
    columns |= {name: random.integers(0, 4, ROWS).astype(float) for name in NAMES[2:]}
    table = Table(columns | {"y": random.normal(size=ROWS)}, ROWS)
    model: Any = DeadlyModel(network(0, (4, 16, 1), "Tanh"), deadly)
    question = Question(
        methods=(method,),
        plots=False,
        engine=Engine.BLACK_BOX,
        feature_columns=NAMES,
        target_column="y",
    )
    with ThreadPoolExecutor(threads) as pool:
        resources = Resources(FileHost(folder), SlowPace(size), pool, lambda: Refusal("a network"))
        answer = explain(model, BoundTable(table, question, model), question, resources)
    return model.predicted, bits(answer.explanations[0].result)


def bits(value: Any) -> bytes:
    """Serialize a result to the last bit."""
    if isinstance(value, np.ndarray):
        content: bytes = value.tobytes()
        return content
    if is_dataclass(value):
        return b"".join(bits(getattr(value, field.name)) for field in fields(value))
    if isinstance(value, (list, tuple)):
        return b"(" + b",".join(map(bits, value)) + b")"
    return repr(value).encode()


def kills(method: Any) -> list[tuple[float, bool]]:
    """Kill a method at each share in each setting: (share of rows done twice, equal bits)."""
    found = []
    with tempfile.TemporaryDirectory() as whole:
        total, expected = attempt(Path(whole), method, 2, 64, np.inf)
    for share in SHARES:
        for threads, size in SETTINGS:
            with tempfile.TemporaryDirectory() as folder:
                first, _ = attempt(Path(folder), method, threads, size, share * total)
                second, answer = attempt(Path(folder), method, 3, 320, np.inf)
            found.append(((first + second - total) / total, answer == expected))
    return found


def main() -> None:
    journal._SECONDS_BETWEEN_WRITES = 0.0  # noqa: SLF001 - a death costs calls, not a second
    failed = 0
    print("method                       kills  done twice: median, most   equal bits")
    for name, method in METHODS.items():
        found = kills(method)
        twice = [share for share, _ in found]
        equal = sum(is_equal for _, is_equal in found)
        failed += len(found) - equal
        print(f"{name:28} {len(found):5}  {np.median(twice):18.1%} {max(twice):6.1%} {equal:11}")
    if failed:
        raise SystemExit(f"{failed} answers differ")


if __name__ == "__main__":
    main()
