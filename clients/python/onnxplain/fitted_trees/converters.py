"""Converters that skl2onnx calls for trees of scikit-learn in place of its own.

skl2onnx takes them by class, so a pipeline around such a model is still its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onnxplain.fitted_trees.histogram_boosting import read_boosting
from onnxplain.fitted_trees.isolation_forest import read_isolation
from onnxplain.fitted_trees.split_trees import (
    SplitTree,
    indexed_attributes,
    named_attributes,
)

_ML = "ai.onnx.ml"
_FLOAT, _INT64, _DOUBLE = 1, 7, 11
"""Types of TensorProto"""
_MAIN_OPSET, _NAMED_OPSET, _LABEL_OPSET, INDEXED_OPSET = 13, 3, 2, 5


def own_converters(model: Any) -> dict[str, dict[type, Callable[..., None]]]:
    """Return converters and their shapes, as `convert_sklearn` takes them by name."""
    from sklearn.ensemble import (  # noqa: PLC0415 - the caller has a fitted model of it
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        IsolationForest,
    )
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    converters: dict[str, dict[type, Callable[..., None]]] = {
        "custom_conversion_functions": {
            HistGradientBoostingRegressor: _convert_boosting,
            HistGradientBoostingClassifier: _convert_boosting,
            IsolationForest: _convert_isolation,
        },
        "custom_shape_calculators": {
            HistGradientBoostingRegressor: _shape_regressor,
            HistGradientBoostingClassifier: _shape_classifier,
            IsolationForest: _shape_isolation,
        },
    }
    if takes_doubles(model):  # ONNX's Scaler answers in float32, whatever it is given
        converters["custom_conversion_functions"][StandardScaler] = _convert_scaler
        converters["custom_shape_calculators"][StandardScaler] = _shape_scaler
    return converters


def is_outlier_detector(model: Any) -> bool:
    """Return whether a model, or the last step of a pipeline, is an IsolationForest."""
    return _last_name(model) == "IsolationForest"


def takes_doubles(model: Any) -> bool:
    """Return whether a model, or the last step of a pipeline, is a forest that is written here.

    Only the last step counts, not a forest inside another estimator. Boosting compares float64, and
    a scaler before a forest answers in it.
    """
    return is_outlier_detector(model) or _last_name(model).startswith("HistGradientBoosting")


def _last_name(model: Any) -> str:
    """Return the class of a model, or of the last step of a pipeline."""
    return type(model.steps[-1][1] if hasattr(model, "steps") else model).__name__


class _Graph:
    """Graph of skl2onnx at the place of one model."""

    def __init__(self, scope: Any, container: Any) -> None:
        self._scope, self._container = scope, container

    def add(
        self,
        operator: str,
        inputs: Sequence[str],
        output: str = "",
        opset: int = 0,
        **attributes: Any,
    ) -> str:
        """Add an operator with one output; `opset` is given for those of ai.onnx.ml."""
        output = output or self._scope.get_unique_variable_name(operator.lower())
        self._container.add_node(
            operator,
            [*inputs],
            [output],
            op_domain=_ML if opset else "",
            # Trees of 5 are declared as of 3: skl2onnx knows none, and the caller corrects it.
            op_version=min(opset, _NAMED_OPSET) or _MAIN_OPSET,
            name=self._scope.get_unique_operator_name(operator),
            **attributes,
        )
        return output

    def constant(self, values: Any) -> str:
        """Add a constant."""
        from onnx import helper  # noqa: PLC0415 - only where a model is written

        name = self._scope.get_unique_variable_name("constant")
        kind = helper.np_dtype_to_tensor_dtype(values.dtype)
        self._container.add_initializer(name, kind, values.shape, values.ravel().tolist())
        return str(name)

    def numbers(self, *values: float) -> str:
        """Add a constant of float32."""
        return self.constant(np.array(values, dtype=np.float32))

    def sums(
        self, matrix: str, trees: Sequence[SplitTree], base: Any, *, is_double: bool = False
    ) -> str:
        """Add the sums over trees, and what is added to them: float32."""
        base = np.array(base, dtype=np.float64)
        has_sets = any(tree.sets for tree in trees)
        if has_sets:  # where a tree of one leaf has no place
            for tree in trees:
                if tree.is_leaf[0]:
                    base[tree.target] += tree.values[0]
            trees = [tree for tree in trees if not tree.is_leaf[0]]
            attributes = indexed_attributes(trees, len(base))
            exact = self.add("TreeEnsemble", [matrix], opset=INDEXED_OPSET, **attributes)
            scores = self.cast(exact, _FLOAT)
        else:
            attributes = named_attributes(trees, len(base), is_double=is_double)
            scores = self.add("TreeEnsembleRegressor", [matrix], opset=_NAMED_OPSET, **attributes)
        return self.add("Add", [scores, self.numbers(*base)])

    def cast(self, name: str, to: int) -> str:
        """Add a change of type."""
        return self.add("Cast", [name], to=to)

    def columns(self, inputs: Sequence[Any]) -> list[str]:
        """Return a tensor for each column of the inputs."""
        columns = []
        for given in inputs:
            name, width = given.full_name, given.type.shape[1]
            columns += [name] if width == 1 else [self._column(name, i) for i in range(width)]
        return columns

    def matrix(self, inputs: Sequence[Any], kind: int) -> str:
        """Return one matrix for all inputs."""
        names = [self.cast(given.full_name, kind) for given in inputs]
        return names[0] if len(names) == 1 else self.add("Concat", names, axis=1)

    def _column(self, matrix: str, position: int) -> str:
        index = self.constant(np.array([position], dtype=np.int64))
        return self.add("Gather", [matrix, index], axis=1)


def _convert_boosting(scope: Any, operator: Any, container: Any) -> None:
    graph, model = _Graph(scope, container), operator.raw_operator
    boosting = read_boosting(model)
    if any(categories is not None for categories in boosting.categories):
        columns = graph.columns(operator.inputs)
        coded = [
            graph.cast(columns[place], _DOUBLE)
            if values is None
            else graph.cast(_codes(graph, columns[place], values), _DOUBLE)
            for place, values in zip(boosting.order.tolist(), boosting.categories, strict=True)
        ]
        matrix = graph.add("Concat", coded, axis=1)
    else:
        matrix = graph.matrix(operator.inputs, _DOUBLE)
    scores = graph.sums(matrix, boosting.trees, boosting.base, is_double=True)
    outputs = [output.full_name for output in operator.outputs]
    if hasattr(model, "classes_"):
        _classify(graph, scores, boosting.link, model.classes_, outputs)
    else:
        graph.add(boosting.link or "Identity", [scores], outputs[0])


def _codes(graph: _Graph, column: str, values: list[str] | list[float]) -> str:
    """Add codes of categories; others are missing."""
    is_text = bool(values) and isinstance(values[0], str)
    if not is_text:
        column = graph.cast(column, _FLOAT)
    keys = "keys_strings" if is_text else "keys_floats"
    attributes: dict[str, Any] = {
        keys: values or [0.0],
        "values_floats": [float(code) for code in range(len(values) or 1)],
        "default_float": float("nan"),
    }
    return graph.add("LabelEncoder", [column], opset=_LABEL_OPSET, **attributes)


def _classify(graph: _Graph, scores: str, link: str, classes: Any, outputs: list[str]) -> None:
    label, answer = outputs
    if link == "Sigmoid":
        second = graph.add("Sigmoid", [scores])
        first = graph.add("Sub", [graph.numbers(1), second])
        graph.add("Concat", [first, second], answer, axis=1)
    else:
        graph.add("Softmax", [scores], answer, axis=1)
    labels = graph.constant(_labels(classes))
    largest = graph.add("ArgMax", [answer], axis=1, keepdims=0)
    graph.add("Gather", [labels, largest], label, axis=0)


def _labels(classes: Any) -> Any:
    is_number = np.asarray(classes).dtype.kind in "biu"
    return np.asarray(classes, np.int64) if is_number else np.array([*map(str, classes)], object)


def _convert_isolation(scope: Any, operator: Any, container: Any) -> None:
    graph = _Graph(scope, container)
    forest = read_isolation(operator.raw_operator)
    label, answer = (output.full_name for output in operator.outputs)
    sums = graph.sums(graph.matrix(operator.inputs, _FLOAT), forest.trees, np.zeros(1))
    score = graph.add("Neg", [graph.add("Exp", [sums])])
    graph.add("Sub", [score, graph.numbers(forest.offset)], answer)
    side = graph.add("Sign", [answer])
    graph.add("Cast", [side], label, to=_INT64)  # the caller takes it out


def _convert_scaler(scope: Any, operator: Any, container: Any) -> None:
    graph, model = _Graph(scope, container), operator.raw_operator
    matrix = graph.matrix(operator.inputs, _DOUBLE)
    for name, values in (("Sub", model.mean_), ("Div", model.scale_)):
        if values is not None:
            matrix = graph.add(name, [matrix, graph.constant(np.asarray(values, np.float64))])
    graph.add("Identity", [matrix], operator.outputs[0].full_name)


def _shape_scaler(operator: Any) -> None:
    from skl2onnx.common.data_types import DoubleTensorType  # noqa: PLC0415

    width = operator.raw_operator.n_features_in_
    operator.outputs[0].type = DoubleTensorType([None, width])


def _shape_regressor(operator: Any) -> None:
    _declare(operator, 1)


def _shape_classifier(operator: Any) -> None:
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType  # noqa: PLC0415

    classes = operator.raw_operator.classes_
    kind = StringTensorType if _labels(classes).dtype == object else Int64TensorType
    operator.outputs[0].type = kind([None])
    _declare(operator, len(classes))


def _shape_isolation(operator: Any) -> None:
    from skl2onnx.common.data_types import Int64TensorType  # noqa: PLC0415

    operator.outputs[0].type = Int64TensorType([None, 1])
    _declare(operator, 1)


def _declare(operator: Any, width: int) -> None:
    """Declare the last output as float32 with so many columns."""
    from skl2onnx.common.data_types import FloatTensorType  # noqa: PLC0415

    operator.outputs[-1].type = FloatTensorType([None, width])
