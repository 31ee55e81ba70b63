"""Exported models with rows that they were made for: one kind per exporter and shape."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import onnx

_FOLDER = Path(__file__).parents[2] / "models"

NAMES = (
    "catboost_3class",
    "catboost_binary",
    "catboost_regressor",
    "flat_columns",
    "half",
    "lightgbm_3class",
    "lightgbm_binary_zipmap",
    "lightgbm_categorical_regressor",
    "lightgbm_categorical_3class",
    "lightgbm_poisson",
    "lightgbm_regressor",
    "network_double",
    "network_float",
    "sklearn_columns_error",
    "sklearn_columns_ignore",
    "sklearn_gradient_boosting",
    "sklearn_gradient_boosting_3class",
    "sklearn_hist_gradient_boosting_3class",
    "sklearn_hist_gradient_boosting_binary",
    "sklearn_linear",
    "sklearn_linear_svc",
    "sklearn_logistic_3class_double",
    "sklearn_logistic_binary",
    "sklearn_network_3class",
    "sklearn_one_versus_rest",
    "sklearn_random_forest_3class",
    "sklearn_random_forest_binary",
    "sklearn_random_forest_two_targets",
    "sklearn_tree_int64",
    "two_outputs",
    "xgboost_3class",
    "xgboost_binary",
    "xgboost_regressor",
)
"""By CatBoost, LightGBM (numbers and categories), XGBoost, skl2onnx (trees, boosting over
histograms, forests, linear and support vector machines, networks, pipelines of columns), and graphs
made by hand (networks, float16, several inputs and outputs)."""


@dataclass(frozen=True, eq=False)
class Kind:
    """A model, and columns of rows that it takes.

    Attributes
    ----------
    columns : mapping of str to list
        By the model's own names of inputs, or x0, x1, ... where it takes one matrix.
    is_matrix : bool
    classes : tuple of str
        Names of its outputs where they are class scores; empty otherwise.
    """

    name: str
    content: bytes
    columns: Mapping[str, list[Any]]
    is_matrix: bool
    classes: tuple[str, ...]

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(self.columns)

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values())))


@cache
def read_kind(name: str) -> Kind:
    content = (_FOLDER / f"{name}.onnx").read_bytes()
    told = json.loads((_FOLDER / f"{name}.json").read_text())
    graph = onnx.load_from_string(content).graph
    constants = {constant.name for constant in graph.initializer}
    is_matrix = sum(taken.name not in constants for taken in graph.input) == 1
    names = [f"x{j}" for j in range(len(told["columns"]))] if is_matrix else list(told["columns"])
    outputs = tuple(told["output_names"])
    regression = ("regressor", "poisson", "linear", "two_", "half", "flat", "network_", "int64")
    is_class = len(outputs) > 1 and not any(part in name for part in regression)
    is_class |= name.startswith(("sklearn_linear_svc", "sklearn_network"))
    columns = dict(zip(names, told["columns"].values(), strict=True))
    return Kind(name, content, columns, is_matrix, outputs if is_class else ())


def renamed(content: bytes, names: Mapping[str, str]) -> bytes:
    """Give the inputs of a model other names."""
    model = onnx.load_from_string(content)
    names = {i.name: names[i.name] for i in model.graph.input if i.name in names}
    for taken in model.graph.input:
        taken.name = names.get(taken.name, taken.name)
    for node in model.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
    content = model.SerializeToString()
    assert isinstance(content, bytes)
    return content
