"""Requests of some 12 s of one thread, one for each method: slow models on small tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import onnxplain

from bench.shared.ensembles import rows, target
from bench.shared.neighbours import gaussian_process, nearest_neighbours

_WIDTH = 6


@dataclass(frozen=True)
class SlowRequest:
    """Request for one method.

    Attributes
    ----------
    options : Any
        Of the method, as the client takes them.
    model_name : str
    build : callable () -> bytes
        Builds the model.
    table_row_count : int
    arguments : mapping
        Further arguments of `Client.start`.
    """

    options: Any
    model_name: str
    build: Callable[[], bytes]
    table_row_count: int
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def model(self) -> bytes:
        """The model's bytes."""
        return self.build()

    @cached_property
    def table(self) -> Mapping[str, Any]:
        """Columns by name."""
        drawn = rows(self.table_row_count, _WIDTH)
        return {f"x{j}": drawn[:, j] for j in range(_WIDTH)} | {"y": target(drawn)}


def _neighbours(training_rows: int) -> tuple[str, Callable[[], bytes]]:
    name = f"neighbours among {training_rows:,}"
    return name, partial(nearest_neighbours, _WIDTH, training_rows)


def _process(training_rows: int) -> tuple[str, Callable[[], bytes]]:
    name = f"Gaussian process on {training_rows:,}"
    return name, partial(gaussian_process, _WIDTH, training_rows)


_SEARCH = onnxplain.Swarm(
    loss="SQUARED_ERROR",
    search="PUBLISHED",
    particle_count=10,
    iteration_count=5,
    restart_count=2,
)

REQUESTS: Mapping[str, SlowRequest] = {
    "interactions": SlowRequest(
        onnxplain.Interactions(), *_neighbours(2_000), 1_000, {"row_count": 515}
    ),
    "partial_dependence": SlowRequest(
        onnxplain.PartialDependence(), *_process(36_000), 1_000, {"row_count": 1_000}
    ),
    "individual_conditional_expectation": SlowRequest(
        onnxplain.IndividualConditionalExpectation(curve_count=370), *_neighbours(100_000), 1_000
    ),
    "permutation_importance": SlowRequest(
        onnxplain.PermutationImportance(), *_process(100_000), 2_700, {"row_count": 2_700}
    ),
    "average_loss": SlowRequest(onnxplain.AverageLoss(), *_neighbours(100_000), 95_000),
    "firm": SlowRequest(onnxplain.Firm(), *_process(100_000), 66_000),
    "feature_vectors": SlowRequest(
        onnxplain.FeatureVectors(source="SURROGATE", sentence_count=2_000, depth=4),
        *_neighbours(400_000),
        11_000,
        {"row_count": 11_000},
    ),
    "swarm": SlowRequest(_SEARCH, *_neighbours(100_000), 1_000, {"row_count": 240}),
}
