"""Numba kernels that descend trees, with their compile cache and thread pool.

Reading order: `compile` and `compile_cache`, `block_pool`, `descent`, then the kernels `summing`
and `leaf_visits`; kernels of one computation alone stay beside it.
Nothing here reads ONNX, predicts, or knows of requests.
"""
