"""Checks of an untrusted model before and after onnxruntime loads it."""
