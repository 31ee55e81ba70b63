"""Compilation by numba in the running process, and what numba must know of kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, type_callable
from numba.np.numpy_support import from_dtype

from onnxplain_server.trees.kernels import compile as compilation
from onnxplain_server.trees.kernels.argument_types import ArgumentType, ArrayType, TupleType
from onnxplain_server.trees.kernels.compile_cache import kernel_cache

_SCALARS = {bool: types.boolean, int: types.int64, float: types.float64}


class JitKernel:
    """A kernel that is compiled when it is first called.

    The machine code is cached for later processes beside the source or in NUMBA_CACHE_DIR,
    whichever is writable. Otherwise every process compiles for itself.

    Parameters
    ----------
    function : callable
    parameters : sequence of ArgumentType
        All types that it is ever called with.

    Attributes
    ----------
    dispatcher : Any
        Of numba.
    """

    def __init__(self, function: Callable[..., Any], parameters: Sequence[ArgumentType]) -> None:
        self.dispatcher = inlined(function)
        cache = kernel_cache(function)
        if cache is not None:
            # `cache=True` knows numba's own cache only.
            self.dispatcher._cache = cache  # noqa: SLF001
        self._signature = tuple(numba_type(each) for each in parameters)
        self._lock = Lock()

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function."""
        if not self.is_compiled:
            with self._lock:
                self.dispatcher.compile(self._signature)
        return self.dispatcher(*arguments)

    @property
    def is_compiled(self) -> bool:
        """True after the first call."""
        return bool(self.dispatcher.signatures)


def inlined(function: Callable[..., Any]) -> Any:
    """Return a function that numba compiles where a compiled one calls it."""
    return numba.njit(nogil=True, error_model="numpy")(function)


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


_compile_to_instruction(compilation.popcount, lambda builder, word: builder.ctpop(word))
_compile_to_instruction(
    compilation.lowest, lambda builder, word: builder.cttz(word, ir.Constant(ir.IntType(1), 1))
)
