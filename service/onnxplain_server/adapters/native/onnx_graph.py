"""ONNX graph of a forest: what everything behind the reading of files knows.

Trees of float32 without sets of codes become a TreeEnsembleRegressor or TreeEnsembleClassifier of
ai.onnx.ml 3, as converters write them; others a TreeEnsemble of ai.onnx.ml 5, which answers in
float64 where it compares it, with operators for base values, links and labels. Features are one
matrix, or a column each where some have categories.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from onnxplain_server.adapters.native.faults import invalid
from onnxplain_server.adapters.native.forest import (
    Derivation,
    Feature,
    Link,
    NativeForest,
)
from onnxplain_server.adapters.native.tree_attributes import (
    indexed_trees,
    lone_leaves,
    named_trees,
)
from onnxplain_server.core.arrays import Array
from onnxplain_server.trees.reading.onnx_nodes import ML

_OPSET, _IR_VERSION = 13, 8
_NAMED_OPSET, _INDEXED_OPSET = 3, 5
_MATRIX, _ANSWER, _LABEL = "features", "prediction", "label"
_POST_TRANSFORMS = {
    Link.TWO_CLASSES: "LOGISTIC",
    Link.SOFTMAX: "SOFTMAX",
    Link.ONE_VERSUS_REST: "LOGISTIC",
}
"""Links of classifiers, by the names that operators have for them."""
_TO_UNIT = 9.999999819974908e34
"""Factor by which values up to float32(1e-35), and no greater ones, are below 1 in float64."""


def write_graph(forest: NativeForest) -> ModelProto:
    """Write a tidy forest as a model; see the module."""
    return _Writer(forest).model()


class _Writer:
    """Nodes and constants of the graph, in the order in which they are computed."""

    def __init__(self, forest: NativeForest) -> None:
        self._forest = forest
        self._type = TensorProto.DOUBLE if forest.is_double else TensorProto.FLOAT
        self._is_indexed = forest.is_double or bool(forest.nodes.members)
        # Operators of ai.onnx.ml 3 answer in float32, whatever they compare.
        self._score_type = self._type if self._is_indexed else TensorProto.FLOAT
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []
        self._inputs = list(_inputs(forest.features, self._type))
        self._taken = {value.name for value in self._inputs}

    def model(self) -> ModelProto:
        matrix = self._matrix()
        outputs = [self._name(_ANSWER)]
        kinds = [self._score_type]
        labels = self._forest.class_labels
        if labels:
            kind = TensorProto.STRING if isinstance(labels[0], str) else TensorProto.INT64
            outputs, kinds = [self._name(_LABEL), *outputs], [kind, *kinds]
        # The runtime adds base values of two classes with a score each in another way.
        is_pair = self._forest.target_count == 2 and self._forest.base.any()
        if self._forest.link in _POST_TRANSFORMS and not (self._is_indexed or is_pair):
            self._classify(matrix, outputs)
        else:
            self._link(self._scores(matrix), outputs[-1])
            self._label(*outputs)
        declared = [
            helper.make_tensor_value_info(name, kind, None)
            for name, kind in zip(outputs, kinds, strict=True)
        ]
        graph = helper.make_graph(self._nodes, "trees", self._inputs, declared, self._constants)
        library, _, version = self._forest.producer.partition(" ")
        opset = _INDEXED_OPSET if self._is_indexed else _NAMED_OPSET
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid(ML, opset)],
            ir_version=_IR_VERSION,
            producer_name=library,
            producer_version=version,
        )
        names = [feature.name for feature in self._forest.features]
        if any(names) and not _has_columns(self._forest.features):
            helper.set_model_props(model, {"feature_names": json.dumps(names)})
        return model

    def _name(self, stem: str) -> str:
        """Return a name that no tensor has."""
        while stem in self._taken:
            stem += "_"
        self._taken.add(stem)
        return stem

    def _add(self, operator: str, inputs: list[str], output: str = "", **attributes: Any) -> str:
        """Add an operator with one output; return the output."""
        output = output or self._name(operator)
        self._nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def _constant(self, values: Array) -> str:
        name = self._name("constant")
        self._constants.append(numpy_helper.from_array(values, name))
        return name

    def _number(self, *values: float) -> str:
        """Add a constant of the type of scores."""
        dtype = helper.tensor_dtype_to_np_dtype(self._score_type)
        return self._constant(np.array(values, dtype=dtype))

    def _matrix(self) -> str:
        """Add the matrix that the trees compare, in which categories are codes."""
        columns = zip(self._inputs, self._forest.features, strict=True)
        matrix = (
            self._add("Concat", [self._column(v.name, f) for v, f in columns], axis=1)
            if _has_columns(self._forest.features)
            else self._inputs[0].name
        )
        blocks = [self._derived(matrix, kind, own) for kind, own in _derivations(self._forest)]
        return self._add("Concat", [matrix, *blocks], axis=1) if blocks else matrix

    def _derived(self, matrix: str, derivation: Derivation, features: Sequence[int]) -> str:
        """Add columns that are derived from those of features."""
        chosen = self._constant(np.array(features, dtype=np.int64))
        columns = self._add("Gather", [matrix, chosen], axis=1)
        if derivation is Derivation.FLOOR:
            return self._add("Floor", [columns])
        scaled = self._add("Mul", [columns, self._constant(np.array([_TO_UNIT]))])
        whole = self._add("Cast", [scaled], to=TensorProto.INT64)  # towards 0
        return self._add("Cast", [whole], to=self._type)

    def _column(self, name: str, feature: Feature) -> str:
        if feature.categories is None:
            return name
        keys: dict[str, Any] = {
            "keys_strings" if feature.has_texts else "keys_floats": list(feature.categories),
            "values_floats": [float(code) for code in range(len(feature.categories))],
            "default_float": float("nan"),
        }
        codes = self._add("LabelEncoder", [name], domain=ML, **keys)
        return self._add("Cast", [codes], to=self._type) if self._forest.is_double else codes

    def _classify(self, matrix: str, outputs: list[str]) -> None:
        """Add label and probabilities of classes."""
        labels = self._forest.class_labels
        kind = "strings" if isinstance(labels[0], str) else "int64s"
        names: dict[str, Any] = {f"classlabels_{kind}": list(labels)}
        node = helper.make_node(
            "TreeEnsembleClassifier",
            [matrix],
            outputs,
            domain=ML,
            post_transform=_POST_TRANSFORMS[self._forest.link],
            **named_trees(self._forest, "class"),
            **names,
        )
        self._nodes.append(node)

    def _scores(self, matrix: str) -> str:
        """Add the sums over trees and the base values."""
        forest = self._forest
        if not self._is_indexed:
            count, trees = forest.target_count, named_trees(forest, "target")
            operator = "TreeEnsembleRegressor"
            return self._add(operator, [matrix], domain=ML, n_targets=count, **trees)
        sums = self._add("TreeEnsemble", [matrix], domain=ML, **indexed_trees(forest))
        base = forest.base + lone_leaves(forest)
        return self._add("Add", [sums, self._number(*base)]) if base.any() else sums

    def _link(self, scores: str, answer: str) -> None:
        """Add the link behind scores."""
        match self._forest.link:
            case Link.IDENTITY:
                self._nodes[-1].output[0] = answer
            case Link.EXPONENTIAL:
                self._add("Exp", [scores], answer)
            case Link.LOGISTIC | Link.ONE_VERSUS_REST:
                self._add("Sigmoid", [scores], answer)
            case Link.SOFTMAX:
                self._add("Softmax", [scores], answer, axis=1)
            case Link.TWO_CLASSES:
                second = self._add("Sigmoid", [scores])
                first = self._add("Sub", [self._number(1), second])
                self._add("Concat", [first, second], answer, axis=1)
            case Link.SIGNED_SQUARE:
                self._add("Mul", [scores, self._add("Abs", [scores])], answer)
            case Link.SOFTPLUS:
                # The runtime has no Softplus of doubles.
                above = self._add("Add", [self._add("Exp", [scores]), self._number(1)])
                self._add("Log", [above], answer)
            case Link.SIGN:
                above = self._add("Greater", [scores, self._number(0)])
                self._add("Cast", [above], answer, to=self._score_type)
            case Link.SORTED:
                all_of_them = self._constant(np.array([self._forest.target_count], dtype=np.int64))
                order = self._name("order")
                self._nodes.append(
                    helper.make_node("TopK", [scores, all_of_them], [answer, order], largest=0)
                )

    def _label(self, label: str, answer: str = "") -> None:
        """Add the label of classes; nothing where the answer is alone."""
        if answer:
            names = self._forest.class_labels
            dtype = object if isinstance(names[0], str) else np.int64
            labels = self._constant(np.array(names, dtype=dtype))
            largest = self._add("ArgMax", [answer], axis=1, keepdims=0)
            self._add("Gather", [labels, largest], label)


def _derivations(forest: NativeForest) -> Iterator[tuple[Derivation, list[int]]]:
    """Yield each derivation of a forest with its features, in the order of derived columns."""
    for derivation, columns in groupby(forest.derived, lambda column: column.derivation):
        yield derivation, [column.feature for column in columns]


def _has_columns(features: Sequence[Feature]) -> bool:
    """Return whether features are an input each."""
    return any(feature.categories is not None for feature in features)


def _inputs(features: Sequence[Feature], kind: int) -> Iterator[ValueInfoProto]:
    """Yield the inputs: one matrix, or a column each where some have categories."""
    if not _has_columns(features):
        yield helper.make_tensor_value_info(_MATRIX, kind, ["rows", len(features)])
        return
    names = [feature.name for feature in features]
    names = names if any(names) else [f"f{i}" for i in range(len(features))]
    if not all(names) or len(set(names)) < len(names):
        raise invalid("The model has features with categories, whose names are not all different.")
    for name, feature in zip(names, features, strict=True):
        own = TensorProto.STRING if feature.has_texts else TensorProto.FLOAT
        column = kind if feature.categories is None else own
        yield helper.make_tensor_value_info(name, column, ["rows", 1])
