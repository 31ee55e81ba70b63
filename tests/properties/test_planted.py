"""The checks find faults planted on purpose: each sees its own, and nothing without it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from asked.case import Case
from asked.models import read_kind
from onnxplain_server.core import table
from onnxplain_server.core.rows import Features
from onnxplain_server.effects import weighted_mean
from onnxplain_server.explain import sample
from onnxplain_server.methods import comparison
from onnxplain_server.trees.exact import Exact

Plant = Callable[[pytest.MonkeyPatch], None]

LOSS: dict[str, Any] = {"averageLoss": {}}
CURVES = {"partialDependence": {"features": [{"names": ["x2"]}], "gridSize": 3}}
N_ROWS = 10


def case(method: dict[str, Any], engine: str) -> Case:
    """A regression by boosted trees, of weighed rows."""
    kind = read_kind("lightgbm_regressor")
    columns = {name: values[:N_ROWS] for name, values in kind.columns.items()}
    columns |= {"y": [*range(N_ROWS)], "w": [1.0 + row % 3 for row in range(N_ROWS)]}
    options = {
        "featureColumns": list(kind.features),
        "targetColumn": "y",
        "weightColumn": "w",
        "engine": engine,
        "plots": False,
        "methods": [method],
    }
    return Case(kind.content, kind.name, columns, "columns", options, is_matrix=True)


def weights_that_are_no_shares(patch: pytest.MonkeyPatch) -> None:
    """A weighted sum over the number of rows in place of the sum of the weights."""
    patch.setattr(comparison, "mean", lambda values, w: (w[:, None] * values).sum(axis=0) / len(w))


def rows_of_weight_0_that_count(patch: pytest.MonkeyPatch) -> None:
    """Rows that all weigh the same, whatever their weights."""
    for module in (sample, *_modules_with("weights")):
        patch.setattr(module, "weights", lambda rows, _name: np.ones(rows.n_rows), raising=False)


def later_rows_that_count_more(patch: pytest.MonkeyPatch) -> None:
    """A mean in which the place of a row counts."""
    honest = weighted_mean.mean
    patch.setattr(
        comparison, "mean", lambda values, w: honest(values, w * (1.0 + np.arange(len(w))))
    )


def features_found_by_alphabet(patch: pytest.MonkeyPatch) -> None:
    """The place of a feature among all names, sorted."""
    patch.setattr(Features, "index", lambda self, name, _path="": sorted(self.names).index(name))


def an_engine_off_by_a_factor(patch: pytest.MonkeyPatch) -> None:
    """Curves of trees that are 0.1 % too high."""
    honest = Exact.curves
    patch.setattr(
        Exact, "curves", lambda self, asked: (1.001 * curve for curve in honest(self, asked))
    )


def _modules_with(name: str) -> list[Any]:
    """Modules of the code that have taken a function of the table by its name."""
    honest = getattr(table, name)
    modules = [m for n, m in sys.modules.items() if n.startswith("onnxplain_server")]
    return [module for module in modules if getattr(module, name, None) is honest]


FAULTS: list[tuple[Plant, str, dict[str, Any]]] = [
    (weights_that_are_no_shares, "weights times 7", LOSS),
    (rows_of_weight_0_that_count, "rows of weight 0", LOSS),
    (later_rows_that_count_more, "rows permuted", LOSS),
    (features_found_by_alphabet, "columns renamed", CURVES),
    (an_engine_off_by_a_factor, "engines", CURVES),
]


@pytest.mark.parametrize(
    ("plant", "check", "method"), FAULTS, ids=[plant.__name__ for plant, _, _ in FAULTS]
)
def test_a_planted_fault_is_found_by_its_check(
    ask, monkeypatch: pytest.MonkeyPatch, plant: Plant, check: str, method: dict[str, Any]
) -> None:
    asked = case(method, "BLACK_BOX")

    def faults():
        return (
            ask.faults_of_engines(asked) if check == "engines" else ask.faults_of(check, asked, 1)
        )

    assert faults() == []
    plant(monkeypatch)
    assert faults() != []


def test_an_unexplained_nan_is_found(ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of numbers that no comparison sees, since both answers have it."""
    monkeypatch.setattr(comparison, "mean", lambda values, _w: np.full(values.shape[1], np.nan))
    with pytest.raises(AssertionError, match=r"average_loss\.losses\.values"):
        ask(case(LOSS, "BLACK_BOX"))


def test_an_error_that_is_no_reason_is_found(ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_arguments):
        raise ZeroDivisionError

    monkeypatch.setattr(comparison, "mean", broken)
    with pytest.raises(ZeroDivisionError):
        ask(case(LOSS, "BLACK_BOX"))
