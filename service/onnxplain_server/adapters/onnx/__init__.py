"""ONNX models on onnxruntime: whatever exporters write becomes rows in, matrix out.

In reading order: `load`, `read` with `checks`, `inputs`, `trial_rows` with `evaluation`,
`output_columns`, `session`, and `analysis` of the graph. All that depends on the model alone is
decided at load time. No type and no error text of onnx or onnxruntime leaves this package.
"""

from onnxplain_server.adapters.onnx.load import describe, load, load_described
from onnxplain_server.adapters.onnx.session import OnnxModel
from onnxplain_server.adapters.onnx.trial_rows import UntriedModelError

__all__ = ["OnnxModel", "UntriedModelError", "describe", "load", "load_described"]
