"""Preloading: all code that a worker needs is loaded and compiled before the sandbox."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainResponse, MethodOptions
from onnxplain_server.adapters.programs.warm_up import NullHost, methods, requests
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod

ROOMS = ("adapters.onnx", "core", "effects", "explain", "language", "methods", "plots", "trees")
COMPILERS = {
    f"onnxplain_server.trees.kernels.{name}" for name in ("ahead_of_time", "compile_cache", "jit")
}
"""A program of its own; and what kernels need where none are compiled ahead of time."""
OF_THE_SERVER = {
    f"onnxplain_server.core.{name}"
    for name in (
        *("operation_store", "operations", "quotas", "remote.sessions", "sources"),
        *("systems.console", "systems.paths", "systems.processors", "systems.sockets"),
    )
}
"""Only the serving process and the one that fetches use them, or a worker's program at its head."""
OF_THE_COMMAND_LINE = {"onnxplain_server.plots.changes.timeline"}
"""Plots of several answers."""
PRELOADED = f"""
import importlib, json, pkgutil, sys
sys.path[:0] = {[entry for entry in sys.path if entry]!r}
from onnxplain_server.adapters.programs import preload
preload.load()
loaded = set(sys.modules)
late = []
for room in {ROOMS!r}:
    package = importlib.import_module("onnxplain_server." + room)
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if found.name not in loaded and "._compiled_" not in found.name:
            late.append(found.name)
# Also kernels of modules that no request has reached.
for room in ("effects", "methods", "trees"):
    package = importlib.import_module("onnxplain_server." + room)
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(found.name)
from onnxplain_server.trees.kernels.compile import KERNELS
# Those of a compiled module are compiled from the start.
states = {{
    each.function.__qualname__: getattr(each.compiled, "is_compiled", True) for each in KERNELS
}}
print(json.dumps({{"late": late, "compiled": states}}))
"""


@pytest.fixture(scope="module")
def preloaded() -> Any:
    """What a process that has preloaded lacks: modules by name, and kernels by their state."""
    command = [sys.executable, "-c", PRELOADED]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def test_each_module_that_computes_is_imported(preloaded) -> None:
    """Also those that are imported where they are used: a confined worker could not open them."""
    assert set(preloaded["late"]) - COMPILERS - OF_THE_SERVER == OF_THE_COMMAND_LINE


def test_each_kernel_is_compiled(preloaded) -> None:
    assert len(preloaded["compiled"]) > 5
    assert [name for name, is_compiled in preloaded["compiled"].items() if not is_compiled] == []


def test_every_method_of_the_contract_is_rehearsed() -> None:
    rehearsed = {options.WhichOneof("method") for options in methods()}

    assert rehearsed == set(MethodOptions.DESCRIPTOR.fields_by_name)


def test_every_rehearsal_is_answered(reference) -> None:
    """A refusal leaves code unloaded: then `rehearsal.py` has to give the method other options."""
    for request in requests():
        answer = ExplainResponse.FromString(
            reference.runner.answer(Call(ServiceMethod.EXPLAIN, request), NullHost()).content
        )
        assert len(answer.explanations) == 1
