"""What workers need loaded before they are confined: they can open no file afterwards.

Everything is used once, so that modules that are imported late and loops that are compiled at
their first call are there too.
"""

from __future__ import annotations

import importlib
from contextlib import suppress

from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.workers.sandbox.warm_up import NullHost, requests
from onnxplain_server.core.errors import ExplainError

_MODULES = (
    *("encodings.idna", "encodings.unicode_escape", "encodings.latin_1", "encodings.utf_16"),
    *("numpy.random", "numpy.ma", "onnx.shape_inference"),
    *("pyarrow.csv", "pyarrow.parquet", "pyarrow.ipc", "pyarrow.compute"),
)


def load() -> None:
    """Import it all and rehearse. No thread of ours is left, and no session."""
    for name in _MODULES:
        importlib.import_module(name)
    runner = InProcess(1, model_count=1)
    for request in requests():
        # Not every method suits every model.
        with suppress(ExplainError):
            runner.explain(request, {}, NullHost())
    runner.close()
