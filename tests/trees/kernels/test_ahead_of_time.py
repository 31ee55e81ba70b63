"""Kernels compiled ahead of time: they compute what numba's own code computes, without the GIL."""

from __future__ import annotations

import copy
import importlib.util
import pkgutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from onnxplain_server import trees
from onnxplain_server.adapters.programs.warm_up import NullHost, requests
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.trees.kernels import compiled_module
from onnxplain_server.trees.kernels.ahead_of_time import compile_kernels
from onnxplain_server.trees.kernels.compile import KERNELS, Kernel
from onnxplain_server.trees.kernels.compiled_module import export_name, levels
from onnxplain_server.trees.kernels.descent import FEATURE, Descent
from onnxplain_server.trees.kernels.jit_kernel import JitKernel
from onnxplain_server.trees.reading.ensemble import CellSets

pytestmark = pytest.mark.slow

_CALLS_PER_KERNEL = 3


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (file,) = compile_kernels(tmp_path_factory.mktemp("compiled"), levels()[-1:])
    return file


@pytest.fixture(scope="module")
def ahead(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.name.partition(".")[0], file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def recorded(compiled: Callable[..., Any], calls: list[Any]) -> Callable[..., Any]:
    """Keep some calls of a kernel: arguments before, arguments after, result."""

    def record(*arguments: Any) -> Any:
        before = copy.deepcopy(arguments)
        result = compiled(*arguments)
        if len(calls) < _CALLS_PER_KERNEL:
            calls.append((before, copy.deepcopy(arguments), copy.deepcopy(result)))
        return result

    return record


def at_run_time(kernel: Kernel) -> JitKernel:
    return JitKernel(kernel.function, tuple(kernel.types.values()))


@pytest.fixture(scope="module")
def calls() -> dict[str, list[Any]]:
    """Some calls of each kernel, compiled by numba at run time."""
    calls: dict[str, list[Any]] = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, each in own_kernels().items():
            record = recorded(at_run_time(each), calls.setdefault(name, []))
            patch.setattr(each, "compiled", record)
        runner = InProcess(1, model_count=1)
        for request in requests():
            with suppress(ExplainError):
                runner.answer(Call(ServiceMethod.EXPLAIN, request), NullHost())
        runner.close()
    return calls


def numbers(value: Any) -> Iterator[Any]:
    """Yield the arrays and numbers of nested tuples."""
    if isinstance(value, tuple):
        for each in value:
            yield from numbers(each)
    elif value is not None:
        yield value


def own_kernels() -> dict[str, Kernel]:
    """The kernels of the package by their names in the module; tests have some of their own."""
    for found in pkgutil.walk_packages(trees.__path__, f"{trees.__name__}."):
        importlib.import_module(found.name)
    own = [each for each in KERNELS if each.function.__module__.startswith("onnxplain_server.")]
    return {export_name(each.function.__module__, each.function.__qualname__): each for each in own}


def test_each_kernel_computes_the_same_as_compiled_by_numba_at_run_time(
    ahead: ModuleType, calls: dict[str, list[Any]]
) -> None:
    kernels = own_kernels()
    assert {name for name in vars(ahead) if "__" in name.strip("_")} == kernels.keys()
    for name in kernels:
        for before, after, result in calls[name]:
            computed = getattr(ahead, name)(*before)
            expected = [*numbers(after), *numbers(result)]
            for left, right in zip(numbers((*before, computed)), expected, strict=True):
                np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-12)


@pytest.fixture(params=["ahead of time", "at run time"])
def compiled(request: pytest.FixtureRequest, ahead: ModuleType) -> Callable[[str], Any]:
    """Look up a kernel by its name in the module."""
    if request.param == "ahead of time":
        return lambda name: getattr(ahead, name)
    return lambda name: at_run_time(own_kernels()[name])


def test_other_threads_run_meanwhile(compiled: Callable[[str], Any]) -> None:
    """They see counts that are neither those before nor those after: the GIL is not kept."""
    visit = compiled("trees__kernels__leaf_visits___visit")
    trees, rows = 1000, 30_000
    leaves = np.zeros((trees, 5), np.int32)
    leaves[:, FEATURE] = -1 - np.arange(trees)
    none = np.zeros(1, np.int32)
    descent = Descent(np.arange(trees, dtype=np.int32), leaves, CellSets(none, none, none))
    codes, shares, seen = np.zeros((rows, 1), np.int32), np.ones(rows), set()
    for _ in range(20):
        counts = np.zeros(trees)
        thread = threading.Thread(target=visit, args=(descent, codes, shares, counts))
        thread.start()
        while thread.is_alive():
            seen.add(int(counts[0]))
        assert set(counts.tolist()) == {rows}
        if seen - {0, rows}:
            return
    pytest.fail(f"seen were only {seen}")


def test_memory_that_runs_out_is_a_memory_error(compiled: Callable[[str], Any]) -> None:
    with pytest.raises(MemoryError):
        compiled("trees__counting__boxes___counting_sort")(np.zeros(1, np.int32), 2**60)


def test_code_of_other_sources_is_not_used(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a copy of the package: with its own sources the module is used, after an edit not."""
    package = Path(compiled_module.__file__).parents[2]
    copied = tmp_path / package.name
    subprocess.run(["cp", "-r", package, copied], check=True)
    folder = copied / "trees" / "kernels"
    subprocess.run(["cp", file, folder], check=True)
    assert uses_module(tmp_path)

    with (copied / "trees" / "reading" / "links.py").open("a", encoding="utf-8") as source:
        source.write("LOGISTIC, SOFTMAX, EXPONENTIAL = 1, 2, 0\n")
    assert not uses_module(tmp_path)


def uses_module(path: Path) -> bool:
    """Whether the package in a folder uses compiled kernels; importing them imports no numba."""
    code = (
        f"import sys; sys.path.insert(0, {str(path)!r})\n"
        "from onnxplain_server.trees import exact\n"
        "from onnxplain_server.trees.kernels.compiled_module import compiled_module\n"
        "print(compiled_module() is not None, 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    uses, imports_numba = (word == "True" for word in done.stdout.split())
    assert not imports_numba
    return uses
