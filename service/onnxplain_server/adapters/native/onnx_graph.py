"""ONNX graph of a forest: what everything behind the reading of files knows.

Trees become a TreeEnsembleRegressor or TreeEnsembleClassifier of ai.onnx.ml 3, as converters write
them. Features are one matrix.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from onnxplain_server.adapters.native.forest import Forest, Link
from onnxplain_server.adapters.native.tree_attributes import named_trees
from onnxplain_server.core.arrays import Array
from onnxplain_server.trees.reading.onnx_nodes import ML

_OPSET = 13
_IR_VERSION = 8
_TREES_OPSET = 3
_MATRIX, _SCORES, _ANSWER = "features", "scores", "prediction"
_CLASSIFIERS = {Link.TWO_CLASSES: "LOGISTIC", Link.SOFTMAX: "SOFTMAX"}


def write_graph(forest: Forest) -> ModelProto:
    """Write a tidy forest as a model; see the module."""
    return _Writer(forest).model()


class _Writer:
    """Nodes and constants of the graph, in the order in which they are computed."""

    def __init__(self, forest: Forest) -> None:
        self._forest = forest
        self._type = TensorProto.DOUBLE if forest.is_double else TensorProto.FLOAT
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []

    def model(self) -> ModelProto:
        inputs = [self._input()]
        matrix = inputs[0].name
        link = self._forest.link
        if link in _CLASSIFIERS:
            self._classify(matrix, _CLASSIFIERS[link])
            outputs = [_output("label", TensorProto.INT64), _output(_ANSWER, TensorProto.FLOAT)]
        else:
            self._answer(self._scores(matrix))
            outputs = [_output(_ANSWER, TensorProto.FLOAT)]
        graph = helper.make_graph(self._nodes, "trees", inputs, outputs, self._constants)
        imports = [helper.make_opsetid("", _OPSET), helper.make_opsetid(ML, _TREES_OPSET)]
        model = helper.make_model(
            graph,
            opset_imports=imports,
            ir_version=_IR_VERSION,
            producer_name=self._forest.producer,
        )
        names = [feature.name for feature in self._forest.features]
        if any(names):
            helper.set_model_props(model, {"feature_names": json.dumps(names)})
        return model

    def _add(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self._nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def _constant(self, name: str, values: Array) -> str:
        self._constants.append(numpy_helper.from_array(values, name))
        return name

    def _input(self) -> ValueInfoProto:
        """Return the matrix of features."""
        width = len(self._forest.features)
        return helper.make_tensor_value_info(_MATRIX, self._type, ["rows", width])

    def _classify(self, matrix: str, link: str) -> None:
        """Add label and probabilities of classes, whose labels are 0, 1 and so on."""
        count = 2 if link == "LOGISTIC" else self._forest.target_count
        labels = np.arange(count)
        attributes = named_trees(self._forest, "class")
        self._nodes.append(
            helper.make_node(
                "TreeEnsembleClassifier",
                [matrix],
                ["label", _ANSWER],
                domain=ML,
                classlabels_int64s=labels.tolist(),
                post_transform=link,
                **attributes,
            )
        )

    def _scores(self, matrix: str) -> str:
        """Add the sums over trees and the base values."""
        count = self._forest.target_count
        attributes = named_trees(self._forest, "target")
        aggregate = "AVERAGE" if self._forest.is_average else "SUM"
        return self._add(
            "TreeEnsembleRegressor",
            [matrix],
            _SCORES,
            domain=ML,
            n_targets=count,
            aggregate_function=aggregate,
            **attributes,
        )

    def _answer(self, scores: str) -> None:
        """Add the link behind scores."""
        match self._forest.link:
            case Link.EXPONENTIAL:
                self._add("Exp", [scores], _ANSWER)
            case Link.LOGISTIC:
                self._add("Sigmoid", [scores], _ANSWER)
            case Link.SIGN:
                zero = self._constant("zero", np.zeros(1, dtype=np.float32))
                above = self._add("Greater", [scores, zero], "above")
                self._add("Cast", [above], _ANSWER, to=TensorProto.FLOAT)
            case _:
                self._nodes[-1].output[0] = _ANSWER


def _output(name: str, kind: int) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, None)
