"""Client of onnxplain: what an ONNX model has learned, as typed results."""
