"""Preloading: all code that a worker needs is loaded and compiled before the sandbox."""

from __future__ import annotations

import ast
import subprocess
import sys

from onnxplain.v1.explanation_service_pb2 import ExplainResponse, MethodOptions
from onnxplain_server.adapters.workers.sandbox.warm_up import NullHost, methods, requests

# Also of modules that no request has reached.
CODE = f"""
import importlib, pkgutil, sys
sys.path[:0] = {[entry for entry in sys.path if entry]!r}
from onnxplain_server import effects, methods, trees
from onnxplain_server.adapters.workers.sandbox import preload
from onnxplain_server.trees.kernels.compile import KERNELS
preload.load()
for folder in (effects, methods, trees):
    for found in pkgutil.walk_packages(folder.__path__, folder.__name__ + "."):
        importlib.import_module(found.name)
# Those of a compiled module are compiled from the start.
states = [getattr(each.compiled, "is_compiled", True) for each in KERNELS]
print([(each.function.__qualname__, state) for each, state in zip(KERNELS, states)])
"""


ROOMS = ("adapters.onnx", "core", "effects", "explain", "language", "methods", "plots", "trees")
COMPILERS = {
    f"onnxplain_server.trees.kernels.{name}" for name in ("ahead_of_time", "compile_cache", "jit")
}
"""A program of its own; and what kernels need where none are compiled ahead of time."""
OF_THE_SERVER = {
    f"onnxplain_server.core.{name}"
    for name in ("operation_store", "operations", "quotas", "remote.sessions", "sources")
}
"""Only the serving process uses them."""
LATE = f"""
import importlib, pkgutil, sys
sys.path[:0] = {[entry for entry in sys.path if entry]!r}
from onnxplain_server.adapters.workers.sandbox import preload
preload.load()
loaded = set(sys.modules)
for room in {ROOMS!r}:
    package = importlib.import_module("onnxplain_server." + room)
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if found.name not in loaded and "._compiled_" not in found.name:
            print(found.name)
"""


def test_each_module_that_computes_is_imported() -> None:
    """Also those that are imported where they are used: a confined worker could not open them."""
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, check=True, text=True)

    assert set(done.stdout.split()) - COMPILERS - OF_THE_SERVER == set()


def test_each_kernel_is_compiled() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, check=True)
    kernels = ast.literal_eval(done.stdout.decode())

    assert len(kernels) > 5
    assert [name for name, is_compiled in kernels if not is_compiled] == []


def test_every_method_of_the_contract_is_rehearsed() -> None:
    rehearsed = {options.WhichOneof("method") for options in methods()}

    assert rehearsed == set(MethodOptions.DESCRIPTOR.fields_by_name)


def test_every_rehearsal_is_answered(reference) -> None:
    """A refusal leaves code unloaded: then `rehearsal.py` has to give the method other options."""
    for request in requests():
        answer = ExplainResponse.FromString(
            reference.runner.explain(request, {}, NullHost()).content
        )
        assert len(answer.explanations) == 1
