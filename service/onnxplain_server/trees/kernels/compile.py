"""Compilation of kernels: code that the package brings, or by numba at the first call.

A wheel brings the kernels as a compiled module (`compiled_module`), made from these same
functions by `ahead_of_time`; it needs no numba. A checkout compiles them by numba (`jit`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from importlib.util import find_spec
from typing import Any, TypeVar, cast

from onnxplain_server.trees.kernels.argument_types import ArgumentType, argument_types
from onnxplain_server.trees.kernels.compiled_module import compiled_module, export_name
from onnxplain_server.trees.kernels.jit_kernel import JitKernel
from onnxplain_server.trees.kernels.small_functions import INLINED

_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(slots=True)
class Kernel:
    """A kernel: a function of arrays and numbers that is compiled.

    Attributes
    ----------
    function : callable
        As written.
    types : dict of str to ArgumentType
        Of its parameters.
    compiled : callable
        Takes arguments of these types, and runs without the GIL.
    """

    function: Callable[..., Any]
    types: dict[str, ArgumentType]
    compiled: Callable[..., Any]


KERNELS: list[Kernel] = []
"""All kernels of the modules that have been imported."""


def kernel(function: _F) -> _F:
    """Compile a function of arrays and numbers; it runs without the GIL.

    Its annotations are the types that it is compiled for: `int`, `float`, `bool`, the array types
    of `core.arrays`, and (named) tuples of these. It refuses others with a TypeError.
    """
    types = argument_types(function)
    made = Kernel(function, types, _ready_made(function) or _jit(function, types))
    KERNELS.append(made)
    checks = tuple(each.accepts for each in types.values())

    @wraps(function)
    def call(*arguments: Any) -> Any:
        for check, argument in zip(checks, arguments, strict=True):
            if not check(argument):
                raise TypeError(_mismatch(function, types, arguments))
        return made.compiled(*arguments)

    return cast("_F", call)


def inlined(function: _F) -> _F:
    """Compile a small function into the kernels of the same file that call it.

    Only of the same file, because cached machine code is invalidated by changes of its own
    file alone.
    """
    INLINED.append(function)
    return function


def _ready_made(function: Callable[..., Any]) -> Callable[..., Any] | None:
    name = export_name(function.__module__, function.__qualname__)
    compiled: Callable[..., Any] | None = getattr(compiled_module(), name, None)
    return compiled


def _jit(function: Callable[..., Any], types: dict[str, ArgumentType]) -> Callable[..., Any]:
    if find_spec("numba") is None:
        raise ImportError(
            "onnxplain-server was installed without compiled loops for this Python and processor. "
            'Install its wheel for this platform, or numba: pip install "onnxplain-server[jit]".'
        )
    return JitKernel(function, tuple(types.values()))


def _mismatch(
    function: Callable[..., Any], types: dict[str, ArgumentType], arguments: tuple[Any, ...]
) -> str:
    names = [
        name
        for (name, kind), argument in zip(types.items(), arguments, strict=True)
        if not kind.accepts(argument)
    ]
    return f"{function.__qualname__} is not compiled for such {', '.join(names)}: {types[names[0]]}"
