"""Trees of scikit-learn that skl2onnx does not write, or writes wrongly: converters for it.

In reading order: `split_trees`, trees in one form; `histogram_boosting` and `isolation_forest`,
which read them from fitted models; `converters`, which write their operators. Nothing here imports
scikit-learn, or skl2onnx at its head.
"""

from onnxplain.fitted_trees.converters import (
    INDEXED_OPSET,
    compares_doubles,
    is_outlier_detector,
    own_converters,
)

__all__ = ["INDEXED_OPSET", "compares_doubles", "is_outlier_detector", "own_converters"]
