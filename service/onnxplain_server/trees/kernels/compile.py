"""Compiled loops: how they are compiled, and the two machine instructions that they need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from onnxplain_server.trees.kernels.compile_cache import kernel_cache

_F = TypeVar("_F", bound=Callable[..., Any])


def kernel(function: _F) -> _F:
    """Compile a function of arrays and numbers at its first call; it runs without the GIL.

    The machine code is kept for later processes where a directory for it can be
    written: beside the source, or where NUMBA_CACHE_DIR says. Otherwise every
    process compiles for itself what did not come with the package (`kept`).
    """
    compiled: Any = numba.njit(nogil=True, error_model="numpy")(function)
    compiled._cache = kernel_cache(function)  # noqa: SLF001 - `cache=True` knows numba's cache only
    return cast("_F", compiled)


def inlined(function: _F) -> _F:
    """Compile a small function into the kernels of the same file that call it.

    Of the same file, because kept machine code notices changes of its own file only.
    """
    return cast("_F", numba.njit(nogil=True, error_model="numpy")(function))


def _instruction(emit: Callable[[Any, Any], Any]) -> Any:
    """Make a function of one 64-bit word that is one instruction of the processor."""

    def typed(_context: Any, word: Any) -> Any:  # noqa: ARG001 - numba reads its name
        def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return emit(builder, arguments[0])

        return types.int64(types.uint64), generate

    return intrinsic(typed)


popcount: Callable[[Any], int] = _instruction(lambda builder, word: builder.ctpop(word))
"""Number of bits of a uint64 that are set."""

lowest: Callable[[Any], int] = _instruction(
    lambda builder, word: builder.cttz(word, ir.Constant(ir.IntType(1), 1))
)
"""Position of the lowest bit of a uint64, which must not be 0, that is set."""
