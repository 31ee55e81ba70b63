"""Compilation by numba in the running process, and what numba must know of kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, register_jitable, type_callable
from numba.np.numpy_support import from_dtype

from onnxplain_server.trees.kernels.argument_types import ArgumentType, ArrayType, TupleType
from onnxplain_server.trees.kernels.compile_cache import kernel_cache
from onnxplain_server.trees.kernels.small_functions import INLINED, lowest, popcount

_SCALARS = {bool: types.boolean, int: types.int64, float: types.float64}

_LOCK = Lock()
"""numba compiles one function at a time, and `INLINED` is read by one thread."""


def compiled(function: Callable[..., Any], parameters: Sequence[ArgumentType]) -> Any:
    """Compile a function for these types, or load its code from the cache; numba's dispatcher."""
    with _LOCK:
        register_inlined()
        dispatcher: Any = numba.njit(nogil=True, error_model="numpy")(function)
        cache = kernel_cache(function)
        if cache is not None:
            # `cache=True` knows numba's own cache only.
            dispatcher._cache = cache  # noqa: SLF001
        dispatcher.compile(tuple(numba_type(each) for each in parameters))
        return dispatcher


def register_inlined() -> None:
    """Let numba compile the functions of `INLINED` where a kernel calls them."""
    while INLINED:
        register: Any = register_jitable(error_model="numpy")
        register(INLINED.pop())


def numba_type(kind: ArgumentType) -> Any:
    """Return numba's type of a parameter."""
    match kind:
        case ArrayType(dtype, dimensions):
            return types.Array(from_dtype(dtype), dimensions, "C")
        case TupleType(kind=owner, members=members):
            pyclass = None if owner is tuple else owner
            base: Any = types.BaseTuple
            return base.from_types([numba_type(each) for each in members], pyclass)
        case _:
            return _SCALARS[kind.kind]


def _compile_to_instruction(function: Callable[..., Any], emit: Callable[[Any, Any], Any]) -> None:
    """Let numba compile a function of a uint64 to one processor instruction."""

    def typed(_context: Any) -> Any:
        return lambda word: types.int64(types.uint64) if word else None

    def lower(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return emit(builder, arguments[0])

    register: Any = type_callable(function)
    register(typed)
    register = lower_builtin(function, types.uint64)  # type: ignore[no-untyped-call]
    register(lower)


_compile_to_instruction(popcount, lambda builder, word: builder.ctpop(word))
_compile_to_instruction(
    lowest, lambda builder, word: builder.cttz(word, ir.Constant(ir.IntType(1), 1))
)
