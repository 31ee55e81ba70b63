"""Service that explains what an ONNX model has learned."""
