"""Trees of scikit-learn that skl2onnx does not write, or writes wrongly: converters for it.

In reading order: `split_trees`, trees in one form; `histogram_boosting` and `isolation_forest`,
which read them from fitted models; `converters`, which write their operators. Nothing here imports
scikit-learn, or skl2onnx at its head.
"""

from onnxplain.fitted_trees.converters import (
    INDEXED_OPSET,
    is_outlier_detector,
    own_converters,
    takes_doubles,
)

__all__ = ["INDEXED_OPSET", "is_outlier_detector", "own_converters", "takes_doubles"]
