"""Explains what an ONNX model has learned: the service."""
