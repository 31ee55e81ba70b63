"""Kernel compilation by numba, with a cache on disk, and two bit-counting instructions."""

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

    The machine code is cached for later processes beside the source or in NUMBA_CACHE_DIR,
    whichever is writable. Otherwise every process compiles for itself what the package does
    not ship (`compile_cache`).
    """
    compiled: Any = numba.njit(nogil=True, error_model="numpy")(function)
    compiled._cache = kernel_cache(function)  # noqa: SLF001 - `cache=True` knows numba's cache only
    return cast("_F", compiled)


def inlined(function: _F) -> _F:
    """Compile a small function into the kernels of the same file that call it.

    Only of the same file, because cached machine code is invalidated by changes of its own
    file alone.
    """
    return cast("_F", numba.njit(nogil=True, error_model="numpy")(function))


def _instruction(emit: Callable[[Any, Any], Any]) -> Any:
    """Make a function of one 64-bit word that compiles to one processor instruction."""

    def typed(_context: Any, word: Any) -> Any:  # noqa: ARG001 - numba reads its name
        def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return emit(builder, arguments[0])

        return types.int64(types.uint64), generate

    return intrinsic(typed)


popcount: Callable[[Any], int] = _instruction(lambda builder, word: builder.ctpop(word))
"""Number of set bits of a uint64."""

lowest: Callable[[Any], int] = _instruction(
    lambda builder, word: builder.cttz(word, ir.Constant(ir.IntType(1), 1))
)
"""Position of the lowest set bit of a uint64, which must not be 0."""
