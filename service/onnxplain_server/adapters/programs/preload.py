"""Preloading in the zygote: imports modules and runs warm-up requests before any sandbox.

Workers cannot open files afterwards, so the warm-up also covers modules that are imported late
and kernels that are compiled at their first call.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import cycle

from onnxplain_server import methods, plots
from onnxplain_server.adapters.programs.warm_up import (
    NullHost,
    model_check,
    prediction,
    requests,
    table_description,
)
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.workers.ipc.zygote_arguments import LEARNING_LIBRARY
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ReplyFormat, ServiceMethod
from onnxplain_server.core.systems.locales import load_case_locale
from onnxplain_server.explain import methods as preparations
from onnxplain_server.methods.registry import METHODS, SEQUENCES
from onnxplain_server.report.registry import of_method

_MODULES = (
    *("encodings.idna", "encodings.unicode_escape", "encodings.latin_1", "encodings.utf_16"),
    "encodings.cp437",
    *("numpy.random", "numpy.ma", "onnx.shape_inference"),
    *("pyarrow.csv", "pyarrow.parquet", "pyarrow.ipc", "pyarrow.compute"),
    "scipy.special",
    "onnxplain_server.explain.planning.budget",
    "onnxplain_server.explain.planning.correlations",
    "onnxplain_server.explain.planning.overview",
    "onnxplain_server.explain.planning.overview_curves",
    "onnxplain_server.explain.plan",
    "onnxplain_server.explain.streaming.pass_classes",
    "onnxplain_server.plots.changes",
    "onnxplain_server.trees.streaming.encoding",
)
"""Modules that are imported where they are used, and that not every warm-up request reaches."""


@contextmanager
def suppress_missing_learning() -> Iterator[None]:
    """Suppress the error of a request that needs scikit-learn where it is left out."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != LEARNING_LIBRARY:
            raise


def load() -> None:
    """Import all modules and run the warm-up; leaves no thread and no session.

    Replies are encoded in one format after the other: each is used for several methods.
    """
    load_case_locale()
    for name in _MODULES:
        importlib.import_module(name)
    for each in (*METHODS.values(), SEQUENCES):
        for room in (methods, preparations, plots):
            each.module_in(room.__name__)
        of_method(each.name)  # reads the titles that summaries name
    runner = InProcess(1, model_count=1)
    for request, reply_format in zip(requests(), cycle(ReplyFormat), strict=False):
        # Not every method suits every model.
        with suppress(ExplainError), suppress_missing_learning():
            call = Call(ServiceMethod.EXPLAIN, request, reply_format=reply_format)
            runner.answer(call, NullHost())
    others = {
        ServiceMethod.PREDICT: prediction(),
        ServiceMethod.CHECK: model_check(),
        ServiceMethod.DESCRIBE_TABLE: table_description(),
    }
    for reply_format in (ReplyFormat.PROTOBUF, ReplyFormat.JSON):
        for method, request in others.items():
            runner.answer(Call(method, request, reply_format=reply_format), NullHost())
    runner.close()
