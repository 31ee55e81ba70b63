"""What the computation meets outside: onnxruntime, caches, and the runners that join the parts."""
