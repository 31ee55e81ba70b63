"""ONNX models, evaluated by onnxruntime: whatever exporters write becomes rows in, matrix out.

All that depends on the model alone is decided when it is loaded; a prediction only runs it.
Nothing of onnx or onnxruntime leaves this package, neither types nor the text of their errors.
"""

from onnxplain_server.adapters.onnx.checks.gate import DEFAULT_LIMITS, ModelLimits
from onnxplain_server.adapters.onnx.load import describe, load
from onnxplain_server.adapters.onnx.session import OnnxModel

__all__ = ["DEFAULT_LIMITS", "ModelLimits", "OnnxModel", "describe", "load"]
