"""Adapters: model runtime, storage, worker processes and identity checks behind core's interfaces.

In reading order: `onnx` loads and runs models, `runner` answers one request in this process,
`workers` runs it in sandboxed processes, `storage` caches numbers and uploads, `access`
authenticates callers. Nothing here knows gRPC, HTTP or the settings; the parts are built and
connected in `__main__` and `serve`.
"""
