"""Machine code of loops, kept for later processes; and code that an image brings along.

numba keeps code for the very processor that compiled it, and finds it only where it may write.
An image is built on another machine than it runs on, and its root may be read-only. So the build
compiles for a level of processors, beside the source, and that code is taken where a processor
has all of the level and has no code of its own yet.
"""

from __future__ import annotations

import platform
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from llvmlite import binding
from numba.core.caching import CompileResultCacheImpl, FunctionCache, InTreeCacheLocator


@dataclass(frozen=True, slots=True)
class Level:
    """A kind of processor by LLVM's name, and the features that all of its kind have."""

    name: str
    features: frozenset[str] = frozenset()


_SINCE_AVX = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")

LEVELS = {
    # Servers since 2013: Intel's Haswell, AMD's Excavator.
    "x86_64": Level(
        "x86-64-v3",
        frozenset({"cx16", "sahf", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3", *_SINCE_AVX}),
    ),
    "aarch64": Level("generic"),
}
"""What images are compiled for, by the machine's name."""


class KernelCache(FunctionCache):
    """What numba keeps, where a directory can be written; and what came along."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._shipped = ShippedCache(function)  # type: ignore[no-untyped-call]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The code for a signature, or None."""
        try:
            compiled = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except (AttributeError, ImportError):
            # An older version wrote the index, and it names a type that has moved since.
            compiled = None
            with suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]
        return compiled or self._shipped.load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep code; a disk that is full or read-only by now only costs the next process."""
        with suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]


class _Beside(InTreeCacheLocator):
    """Beside the source, whether it may be written there or not."""

    def ensure_cache_path(self) -> None:
        """Nothing is written."""


class _Reading(CompileResultCacheImpl):
    _locator_classes = [_Beside]  # noqa: RUF012 - as numba has it


class ShippedCache(FunctionCache):
    """Code for the machine's level of processors, which is read only."""

    _impl_class = _Reading

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The code for a signature, or None where this processor lacks what it needs."""
        return super().load_overload(sig, target_context) if supports_level() else None  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        """Nothing is written."""

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        kind, (triple, *_), source = super()._index_key(sig, codegen)  # type: ignore[no-untyped-call]
        return kind, (triple, LEVELS[platform.machine()].name, ""), source


def kernel_cache(function: Any) -> KernelCache | ShippedCache:
    """Where the code of a function is kept, or at least looked for."""
    try:
        return KernelCache(function)
    except RuntimeError:  # numba found no directory that it may write to
        return ShippedCache(function)  # type: ignore[no-untyped-call]


def supports_level() -> bool:
    """Whether this processor has all of its machine's level."""
    level = LEVELS.get(platform.machine())
    if level is None:
        return False
    with suppress(RuntimeError):  # of processors whose features LLVM cannot tell
        found = binding.get_host_cpu_features()
        return all(found.get(feature, False) for feature in level.features)
    return not level.features
