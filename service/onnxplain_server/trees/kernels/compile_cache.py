"""Compile cache: machine code of kernels on disk, and precompiled code that an image ships.

numba caches code for the exact processor that compiled it, and reads it only where it may write.
An image is built on another machine than it runs on, and its root may be read-only. So the build
compiles for a processor level, beside the source, and a process uses that code if its processor
supports the level and has no code of its own yet.
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
    """Processor level by LLVM's name, with the features that all such processors have."""

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
"""Processor levels that images are compiled for, by machine name."""


class KernelCache(FunctionCache):
    """numba's cache in a writable directory, with the shipped cache as fallback."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._shipped = ShippedCache(function)  # type: ignore[no-untyped-call]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code for a signature, or None."""
        try:
            compiled = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except (AttributeError, ImportError):
            # An older version wrote the index, and it names a type that has moved since.
            compiled = None
            with suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]
        return compiled or self._shipped.load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store code; a full or read-only disk costs only the next process."""
        with suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]


class _ReadOnlyLocator(InTreeCacheLocator):
    """Locates the cache beside the source, writable or not."""

    def ensure_cache_path(self) -> None:
        """Do nothing: the cache is never written."""


class _ReadOnlyImpl(CompileResultCacheImpl):
    _locator_classes = [_ReadOnlyLocator]  # noqa: RUF012 - as numba has it


class ShippedCache(FunctionCache):
    """Read-only code for the machine's processor level."""

    _impl_class = _ReadOnlyImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code for a signature, or None where this processor lacks a feature."""
        return super().load_overload(sig, target_context) if supports_level() else None  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        """Do nothing: the cache is never written."""

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        kind, (triple, *_), source = super()._index_key(sig, codegen)  # type: ignore[no-untyped-call]
        return kind, (triple, LEVELS[platform.machine()].name, ""), source


def kernel_cache(function: Any) -> KernelCache | ShippedCache:
    """Return the cache of a function: read-only where no directory is writable."""
    try:
        return KernelCache(function)
    except RuntimeError:  # numba found no writable directory
        return ShippedCache(function)  # type: ignore[no-untyped-call]


def supports_level() -> bool:
    """Return whether this processor has all features of its machine's level."""
    level = LEVELS.get(platform.machine())
    if level is None:
        return False
    with suppress(RuntimeError):  # LLVM does not know the features of every processor
        features = binding.get_host_cpu_features()
        return all(features.get(feature, False) for feature in level.features)
    return not level.features
