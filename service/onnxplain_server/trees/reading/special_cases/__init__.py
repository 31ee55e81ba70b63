"""Special cases of onnxruntime, where trees do not answer as ONNX defines them."""
