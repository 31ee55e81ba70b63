"""Questions about odd tables: a model, a table in one form, and a method or an overview."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from google.protobuf.json_format import ParseDict
from odd.bodies import Body, draw_body
from odd.columns import NUMBERS, OTHERS, USUAL, Column, Rng, draw_column
from odd.tables import FORMS
from onnxplain.v1.explanation_service_pb2 import ExplainRequest

_NAMES = [
    ["a", "b", "c", "d"],
    ["a", "b", "c", "d"],
    ["a", "b", "a × b", "c"],
    ["b × a", "b", "a", " a"],
    ["a + b", "a", "b", "c"],
    ["value", "group", "output", "curve"],
    ["at", "features", "row_index", "feature"],
    ["x" * 61 + "1", "x" * 61 + "2", "x" * 30 + "1" + "x" * 31, "x"],
    ["y", "y_0", "prediction", "total"],
    ["constructor", "missing", "(others)", "hasOwnProperty"],
    ["a, b", "a and b", 'say "a"', "a\tb"],
    ["ä", "a\u0308", "𝑎", "\u200b"],
]
_WEIGHTS = {
    "equal": [2.5],
    "with zeros": [0.0, 1.0, 3.0],
    "mostly zero": [0.0, 0.0, 0.0, 0.0, 1.0],
    "huge": [1e300, 1.5e308],
    "tiny": [1e-300, 5e-324],
    "far apart": [1e-300, 1.0, 1e300],
}
_ROW_COUNTS = (1, 2, 2, 3, 5, 5, 12, 12, 12, 30, 30, 30, 30, 60, 60, 60, 60, 60, 60, 400)
_LOSSES = [
    "SQUARED_ERROR",
    "ABSOLUTE_ERROR",
    "SQUARED_ERROR",
    "ABSOLUTE_ERROR",
    "POISSON",
    "MAPE",
    "LOGLOSS",
    "GAMMA",
]
_ESTIMATORS = [None, None, "GAUSSIAN", "TAYLOR", "SLOPE", "BINNED", "SMOOTH", "TWO_VALUED"]
METHODS = (
    "overview",
    "interactions",
    "partialDependence",
    "individualConditionalExpectation",
    "permutationImportance",
    "averageLoss",
    "featureVectors",
    "firm",
    "swarm",
    "predict",
)


@dataclass(frozen=True, eq=False)
class Question:
    """A question.

    Attributes
    ----------
    columns : mapping of str to Column
        Of the table.
    body : Body
        The model.
    form : str
        One of `FORMS`.
    method : str
        One of `METHODS`.
    options : mapping
        Fields of ExplainRequest but model and table, as JSON has them.
    """

    columns: Mapping[str, Column] = field(repr=False)
    body: Body
    form: str
    method: str
    options: Mapping[str, Any]

    @property
    def row_count(self) -> int:
        return len(next(iter(self.columns.values())).cells)

    @property
    def told(self) -> str:
        kinds = ", ".join(f"{name}: {column.kind}" for name, column in self.columns.items())
        return f"{self.row_count} rows as {self.form} ({kinds}); {self.body.told}; {self.options}"

    def request(self) -> ExplainRequest:
        """Build the message; errors are those of clients and decoders."""
        message = ParseDict(dict(self.options), ExplainRequest())
        message.model.content = self.body.content
        message.table.CopyFrom(FORMS[self.form](self.columns))
        return message


def draw_question(seed: int) -> Question:
    """Draw a question."""
    rng = np.random.default_rng(seed)
    method = METHODS[seed % len(METHODS)]
    count = int(rng.choice(_ROW_COUNTS))
    columns = _columns(rng, count)
    fewest = 2 if method in {"interactions", "featureVectors"} else 1
    body = draw_body(rng, _features(rng, columns, fewest))
    options: dict[str, Any] = {"featureColumns": list(body.features)}
    if rng.random() < 0.3:
        engines = ["BLACK_BOX", "TREES"] if body.told.startswith("trees") else ["BLACK_BOX"]
        options["engine"] = str(rng.choice(engines))
    if rng.random() < 0.7 or method in {"permutationImportance", "averageLoss", "swarm"}:
        columns["target"] = _target(rng, body, columns, count)
        options["targetColumn"] = "target"
    if rng.random() < 0.3:
        weights = _WEIGHTS[str(rng.choice([*_WEIGHTS]))]
        columns["weight"] = Column("weights", [float(w) for w in rng.choice(weights, count)])
        options["weightColumn"] = "weight"
    if method not in {"overview", "predict"}:
        options["methods"] = [{method: _options_of(method, rng, columns, body)}]
    form = str(rng.choice([*FORMS]))
    if not body.is_matrix:
        options["featureColumns"] = []
    return Question(columns, body, form, method, options)


def _columns(rng: Rng, count: int) -> dict[str, Column]:
    """Draw a column for each name of a list: one odd one, and others that are odd less often."""
    names = _NAMES[rng.integers(len(_NAMES))]
    odd = int(rng.integers(len(names)))
    columns = {}
    for place, name in enumerate(names):
        kinds = (*NUMBERS, *OTHERS) if place == odd or rng.random() < 0.3 else USUAL
        columns[name] = draw_column(rng, count, kinds)
    return columns


def _features(rng: Rng, columns: Mapping[str, Column], fewest: int) -> dict[str, Column]:
    """Choose the columns that a model takes; seldom dates and the like, which none takes."""
    seldom = {"date", "large integers", "number-like text"}
    usable = [n for n, c in columns.items() if c.kind not in seldom or rng.random() < 0.1]
    chosen = rng.permutation(len(usable))[: int(rng.integers(fewest, 4))]
    return {usable[k]: columns[usable[k]] for k in sorted(chosen.tolist())}


def _target(rng: Rng, body: Body, columns: Mapping[str, Column], count: int) -> Column:
    """Draw a target: near a feature, plain, constant, large or with classes."""
    first = columns[body.features[0]]
    if not first.is_text and first.kind != "date" and rng.random() < 0.5:
        numbers = np.nan_to_num(first.truth.astype(float), posinf=1.0, neginf=-1.0)
        return Column("target", (numbers + rng.normal(size=count)).tolist())
    kinds = ("plain", "plain", "constant", "two values", "some ends", "whole", "boolean", "text")
    return draw_column(rng, count, kinds)


def _options_of(method: str, rng: Rng, columns: Mapping[str, Column], body: Body) -> dict[str, Any]:
    """Draw options, most of them left to their defaults."""
    features = body.features
    group = str(rng.choice([*columns]))
    grid = _some(rng, {
        "gridSize": int(rng.choice([2, 3, 5, 20])),
        "strategy": "STEPS" if body.told.startswith("trees of float") else "QUANTILE",
        "trimLower": 0.0, "trimUpper": 1.0, "includeMissing": True,
    })  # fmt: skip
    by_group = _some(rng, {"groupCount": int(rng.integers(1, 5))}) | {"groupColumn": group}
    loss = _some(rng, {"loss": str(rng.choice(_LOSSES))})
    groups = {(name,) for name in features} | {features[:2]}
    pair = [{"names": list(names)} for names in sorted(groups)]
    drawn: dict[str, dict[str, Any]] = {
        "interactions": _some(rng, {"quantileBinCount": 3, "threewayFeatureCount": 3}),
        "partialDependence": grid
        | _some(rng, {"features": pair})
        | (by_group if rng.random() < 0.4 else {}),
        "individualConditionalExpectation": grid | _some(rng, {"centered": True})
        | ({"groupColumns": [group]} if rng.random() < 0.4 else {}),
        "permutationImportance": loss | _some(rng, {"normalize": True, "repeatCount": 2}),
        "averageLoss": loss | (by_group if rng.random() < 0.7 else {}),
        "featureVectors": {"sentenceCount": 50, "depth": 2},
        "firm": _some(rng, {
            "estimator": _ESTIMATORS[rng.integers(len(_ESTIMATORS))],
            "binCount": 4, "repeatCount": 10, "features": [*columns],
        }),
        "swarm": {"particleCount": 3, "iterationCount": 3} | loss,
    }  # fmt: skip
    return drawn[method]


def _some(rng: Rng, options: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in options.items() if v is not None and rng.random() < 0.35}
