"""Kernel that numba compiles at its first call; numba is imported then, and not before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from onnxplain_server.trees.kernels.argument_types import ArgumentType


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
        Of numba; None before the first call.
    """

    def __init__(self, function: Callable[..., Any], parameters: Sequence[ArgumentType]) -> None:
        self._function, self._parameters = function, parameters
        self.dispatcher: Any = None
        self._lock = Lock()

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function."""
        if self.dispatcher is None:
            self.compile()
        return self.dispatcher(*arguments)

    @property
    def is_compiled(self) -> bool:
        """True after the first call."""
        return self.dispatcher is not None

    def compile(self) -> None:
        """Compile it now, unless it has been."""
        from onnxplain_server.trees.kernels import jit

        with self._lock:
            if self.dispatcher is None:
                self.dispatcher = jit.compiled(self._function, self._parameters)
