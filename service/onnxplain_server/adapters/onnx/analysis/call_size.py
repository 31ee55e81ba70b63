"""Operators whose rounding may depend on the rows of a call, where calls are cut at 16 rows.

onnxruntime computes a row of a matrix product by other instructions where it is alone in a call,
and the last numbers of an elementwise function by others than those before. Both depend on the
place of a row within 16 rows only, which is the same in all calls. Some operators change their
instructions above a number of rows besides; all that are not known to do neither are listed.
"""

from __future__ import annotations

from onnx import ModelProto, NodeProto

from onnxplain_server.trees.reading.onnx_nodes import nodes_within, post_transform

_EXACT = frozenset(
    {
        # Move, compare or choose values.
        *("ArgMax", "ArgMin", "ArrayFeatureExtractor", "Binarizer", "Cast", "CastLike"),
        *("CategoryMapper", "Clip", "Concat", "Constant", "ConstantOfShape", "Dropout", "Equal"),
        *("Expand", "FeatureVectorizer", "Flatten", "Gather", "GatherElements", "GatherND"),
        *("Greater", "GreaterOrEqual", "Identity", "If", "Imputer", "IsInf", "IsNaN"),
        *("LabelEncoder", "Less", "LessOrEqual", "Max", "Min", "OneHot", "OneHotEncoder", "Range"),
        *("Reshape", "Scan", "Shape", "Size", "Slice", "Split", "Squeeze", "Tile", "TopK"),
        *("Transpose", "Unsqueeze", "Where", "ZipMap", "And", "Or", "Not", "Xor", "ReduceMax"),
        *("ReduceMin", "StringNormalizer"),
        # Round once.
        *("Abs", "Add", "Ceil", "Div", "Floor", "LeakyRelu", "Mul", "Neg", "PRelu", "Reciprocal"),
        *("Relu", "Round", "Scaler", "Sign", "Sqrt", "Sub", "ThresholdedRelu"),
        # Round several times, by the place within 16 rows.
        *("Atan", "Celu", "Cos", "Elu", "Erf", "Exp", "HardSigmoid", "HardSwish", "Log"),
        *("LogSoftmax", "Pow", "Selu", "Sigmoid", "Sin", "Softmax", "Softplus", "Softsign"),
        *("Tan", "Tanh", "CDist", "Gemm", "MatMul", "LinearRegressor", "Normalizer", "ReduceL1"),
        *("ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "ReduceProd"),
        *("ReduceSum", "ReduceSumSquare", "TreeEnsemble", "TreeEnsembleClassifier"),
        "TreeEnsembleRegressor",
    }
)
_DOMAINS = frozenset({"", "ai.onnx", "ai.onnx.ml"})
_PRODUCTS = frozenset({"Gemm", "MatMul"})


def size_dependent_operators(model: ModelProto) -> tuple[str, ...]:
    """Return the operators of a model whose rounding may depend on the size of calls.

    Returns
    -------
    tuple of str
        Each once, sorted, as in `Description.operators`. Empty if every row has the same
        prediction, to the last bit, in calls of any number of rows.
    """
    constants = {tensor.name for tensor in model.graph.initializer} | {""}
    unknown = set()
    for node in nodes_within(model.graph):
        if set(node.input) <= constants:
            constants.update(node.output)
        elif not _is_exact(node, constants):
            unknown.add(f"{node.domain}:{node.op_type}" if node.domain else node.op_type)
    return tuple(sorted(unknown))


def _is_exact(node: NodeProto, constants: set[str]) -> bool:
    if node.op_type == "LinearClassifier":
        return not post_transform(node).startswith("SOFTMAX")
    if node.op_type in _PRODUCTS:
        return sum(name not in constants for name in node.input) == 1
    known = node.domain in _DOMAINS or node.op_type == "CDist"
    return known and node.op_type in _EXACT
