"""Models that are plain functions, and surroundings that remember: what tests of numbers share."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Input, Note
from onnxplain_server.core.rows import bind
from onnxplain_server.core.table import Table
from onnxplain_server.effects.background import Background, merge
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.effects.black_box import BlackBox
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.explain import Answer, BoundTable, Question, Resources, explain
from onnxplain_server.methods.feature_vectors import forest_counts, growing
from onnxplain_server.trees.reading.refusal import Refusal

# The same examples in every run, however slow: a failure in CI is a failure here.
settings.register_profile(
    "project",
    deadline=None,
    derandomize=True,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("project")


class FunctionModel:
    """A model that is a function of its columns; counts the rows that it predicts.

    Parameters
    ----------
    function : callable
        One (n,) array per feature to (n,) or (n, n_outputs).
    names : sequence of str
    types : sequence of str
        Element type of each feature, as ONNX names them.
    matrix : bool
        One input for all features, instead of one each.
    without : mapping of int to sequence of int
        For outputs, the features that they are known not to depend on.
    rounding : float
        Relative error of what the function computes.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        names: Sequence[str],
        types: Sequence[str],
        *,
        matrix: bool = False,
        n_outputs: int = 1,
        without: Mapping[int, Sequence[int]] | None = None,
        rounding: float = 2.0**-53,
    ) -> None:
        self.function = function
        self.without = without or {}
        self.inputs = tuple(Input(n, t, 1) for n, t in zip(names, types, strict=True))
        if matrix:
            self.inputs = (Input("X", types[0], len(names)),)
        self.output_names = tuple(f"y{k}" for k in range(n_outputs))
        self.has_class_scores = False
        self.is_binary = False
        self.notes: tuple[Note, ...] = ()
        self.roundings = np.full(n_outputs, rounding)
        self.calls: list[int] = []

    @property
    def predicted(self) -> int:
        """Rows predicted so far."""
        return sum(self.calls)

    def unused(self, n_features: int, outputs) -> frozenset[int]:
        every = frozenset(range(n_features))
        return every.intersection(*(self.without.get(k, ()) for k in outputs.tolist()))

    def predict(self, feeds: Mapping[str, Array]) -> Array:
        arrays = [feeds[i.name] for i in self.inputs]
        columns = list(arrays[0].T) if self.inputs[0].name == "X" else [a[:, 0] for a in arrays]
        self.calls.append(len(columns[0]))
        return np.asarray(self.function(*columns)).reshape(len(columns[0]), -1)

    def on_buffers(self, buffers: Mapping[str, Array]) -> Callable[[slice], Array]:
        return lambda rows: self.predict({name: buffers[name][rows] for name in buffers})


class Memory:
    """A host that keeps what it is told, and may end the computation after some steps."""

    model_key = "a model"
    caller_key = "a caller"

    def __init__(self, steps: float = float("inf")) -> None:
        self.steps = steps
        self.progress: list[tuple[float, float]] = []
        self.values: dict[str, bytes] = {}
        self.round_trips = 0
        self._lock = threading.Lock()

    def advance(self, done: float, planned: float) -> None:
        with self._lock:
            self.progress.append((done, planned))
            if len(self.progress) > self.steps:
                raise ExplainError(Reason.CANCELLED, "the caller has gone")

    def cache_get(
        self, names: Sequence[str], byte_limit: float = math.inf
    ) -> Sequence[bytes | None]:
        assert byte_limit > 0
        self.round_trips += 1
        return [self.values.get(name) for name in names]

    def cache_put(self, entries: Mapping[str, bytes]) -> None:
        self.values |= entries

    def count_processor(self, seconds: float) -> None:
        assert seconds >= 0

    def single_flight(self, _name: str) -> AbstractContextManager[bool]:
        return nullcontext(enter_result=True)


class FixedBatchSize(BatchSize):
    """A batch size that does not learn; the model takes `row_seconds` for a row."""

    def __init__(self, rows: int, row_seconds: float = math.inf) -> None:
        super().__init__()
        self.rows = rows
        self.row_seconds = row_seconds

    def rows_in(self, seconds: float) -> int:
        return int(seconds / self.row_seconds)

    def current(self) -> int:
        return self.rows

    def record(self, size: int, rows: int, seconds: float) -> None:
        """Take no notice."""


@dataclass(eq=False)
class Engine:
    """An engine with all that it was made of."""

    model: FunctionModel
    host: Memory
    ledger: Ledger
    predictor: Predictor
    background: Background
    effects: BlackBox


def column(values) -> Array:
    """Make a column as a table has it: float64, or str objects."""
    text = any(isinstance(value, str) for value in values)
    return np.array(values, dtype=object if text else np.float64)


def table_of(columns: Mapping[str, Any]) -> Table:
    arrays = {name: column(values) for name, values in columns.items()}
    return Table(arrays, len(next(iter(arrays.values()))))


def type_of(values) -> str:
    return "string" if column(values).dtype == object else "double"


@dataclass
class Makers:
    """How tests make the parts: from columns, and a function of them."""

    pools: dict[int, ThreadPoolExecutor] = field(default_factory=dict)

    model = FunctionModel
    host = Memory
    batch_size = FixedBatchSize
    column = staticmethod(column)
    table = staticmethod(table_of)

    def pool(self, threads: int) -> ThreadPoolExecutor:
        return self.pools.setdefault(threads, ThreadPoolExecutor(threads))

    def engine(
        self,
        function: Callable[..., Any],
        columns: Mapping[str, Any],
        weights=None,
        *,
        types: Sequence[str] | None = None,
        n_outputs: int = 1,
        outputs: Sequence[int] | None = None,
        host: Memory | None = None,
        batch_size: BatchSize | None = None,
        threads: int = 1,
        scale: str = "RESPONSE",
        planned: int = 0,
        matrix: bool = False,
        source=None,
        without: Mapping[int, Sequence[int]] | None = None,
        rounding: float = 2.0**-53,
    ) -> Engine:
        """Bind a function to rows."""
        given = table_of(columns)
        types = types or [type_of(values) for values in columns.values()]
        model = FunctionModel(
            function,
            tuple(columns),
            types,
            matrix=matrix,
            n_outputs=n_outputs,
            without=without,
            rounding=rounding,
        )
        features = bind(model.inputs, given, tuple(columns) if matrix else (), ())
        ones = np.ones(given.n_rows)
        background = merge(
            features,
            ones if weights is None else np.array(weights, float),
            np.arange(given.n_rows) if source is None else np.array(source),
        )
        host = host or Memory()
        ledger = Ledger(host)
        ledger.reserve(planned)
        wanted = np.array(range(n_outputs) if outputs is None else outputs)
        predictor = Predictor(model, wanted, ledger, batch_size or BatchSize(), self.pool(threads))
        return Engine(
            model, host, ledger, predictor, background, BlackBox(predictor, background, scale)
        )

    def answer(
        self,
        model: FunctionModel,
        table: Table,
        *methods,
        host: Memory | None = None,
        batch_size: BatchSize | None = None,
        threads: int = 1,
        **question,
    ) -> Answer:
        """Explain a model, without plots."""
        asked = Question(methods=methods, **{"plots": False, **question})
        means = Resources(
            host or Memory(),
            batch_size or BatchSize(),
            self.pool(threads),
            lambda: Refusal("it is a function"),
        )
        return explain(model, BoundTable(table, asked, model), asked, means)


@pytest.fixture(scope="session")
def make() -> Iterator[Makers]:
    """Makers of models, hosts, engines and answers."""
    makers = Makers()
    yield makers
    for pool in makers.pools.values():
        pool.shutdown()


@pytest.fixture(scope="module")
def few_trees() -> Iterator[None]:
    """Surrogate forests are rated and compared by few trees, where accuracy is not the question."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growing, "_VALIDATION_TREES", 3)
        patch.setattr(forest_counts, "_COMPARED_TREES", 16)
        yield
