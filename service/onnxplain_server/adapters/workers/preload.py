"""What workers need loaded before they are confined, since they can open no file afterwards."""

from __future__ import annotations

import importlib

_MODULES = (
    *("encodings.idna", "encodings.unicode_escape", "encodings.latin_1", "encodings.utf_16"),
    *("numpy.random", "numpy.ma", "onnx.helper", "onnx.shape_inference", "onnxruntime"),
    *("pyarrow.csv", "pyarrow.parquet", "pyarrow.ipc", "pyarrow.compute"),
    "onnxplain_server.adapters.in_process",
)


def load() -> None:
    """Import it all, and read the versions that receipts tell."""
    for name in _MODULES:
        importlib.import_module(name)
    from onnxplain_server.adapters.in_process import versions  # noqa: PLC0415 - now it is loaded

    versions()
