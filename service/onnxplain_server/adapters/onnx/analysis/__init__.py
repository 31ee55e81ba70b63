"""Static analysis of an ONNX graph: margin, additive scores, reachable columns, precision."""
