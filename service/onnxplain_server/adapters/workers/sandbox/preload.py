"""Preloading in the zygote: imports modules and runs warm-up requests before any sandbox.

Workers cannot open files afterwards, so the warm-up also covers modules that are imported late
and kernels that are compiled at their first call.
"""

from __future__ import annotations

import importlib
from contextlib import suppress
from itertools import cycle

from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.workers.sandbox.warm_up import NullHost, requests
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.request import ReplyFormat

_MODULES = (
    *("encodings.idna", "encodings.unicode_escape", "encodings.latin_1", "encodings.utf_16"),
    *("numpy.random", "numpy.ma", "onnx.shape_inference"),
    *("pyarrow.csv", "pyarrow.parquet", "pyarrow.ipc", "pyarrow.compute"),
)


def load() -> None:
    """Import all modules and run the warm-up; leaves no thread and no session.

    Replies are encoded in one format after the other: each is used for several methods.
    """
    for name in _MODULES:
        importlib.import_module(name)
    runner = InProcess(1, model_count=1)
    for request, reply_format in zip(requests(), cycle(ReplyFormat), strict=False):
        # Not every method suits every model.
        with suppress(ExplainError):
            runner.explain(request, {}, NullHost(), reply_format)
    runner.close()
