"""Compiled module: the kernels that a wheel brings as machine code, and when they are used.

A wheel has one for each processor level of its machine. The name of a module ends with a digest
of the sources that it was made from, so that code of other sources is not found.
"""

from __future__ import annotations

import hashlib
import importlib
import platform
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

_PACKAGE = "onnxplain_server"
PREFIX = "_compiled"


@dataclass(frozen=True, slots=True)
class Level:
    """Processor level.

    Attributes
    ----------
    name : str
        In the name of the module.
    processor : str
        LLVM's name of it.
    features : frozenset of str
        All such processors have them; Linux's names.
    """

    name: str
    processor: str
    features: frozenset[str] = frozenset()


_V2 = ("cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3")
_V3 = ("abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave")

_LEVELS = {
    # Servers since 2013: Intel's Haswell, AMD's Excavator.
    "x86_64": (
        Level("x86_64_v3", "x86-64-v3", frozenset({*_V2, *_V3})),
        Level("x86_64", "x86-64"),
    ),
}


def levels() -> tuple[Level, ...]:
    """Return the levels of this kind of machine, the highest first; the last suits all."""
    return _LEVELS.get(platform.machine(), (Level("generic", "generic"),))


def own_level() -> Level:
    """Return the highest level that this machine has."""
    features = processor_features()
    return next(level for level in levels() if level.features <= features)


@cache
def compiled_module() -> ModuleType | None:
    """Import the module for this processor, if the package brings it for its present sources."""
    if not any(Path(__file__).parent.glob(f"{PREFIX}_*")):
        return None
    features = processor_features()
    for level in levels():
        if level.features <= features:
            with suppress(ModuleNotFoundError):
                return importlib.import_module(f"{__package__}.{module_name(level)}")
    return None


def processor_features() -> frozenset[str]:
    """Return the features that all processors of this machine have, by Linux's names."""
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        flags = [frozenset(line.partition(":")[2].split()) for line in lines if line[:5] == "flags"]
        if flags:
            return frozenset.intersection(*flags)
    return frozenset()


def module_name(level: Level) -> str:
    """Return the name of the module for a level, made from the present sources."""
    return f"{PREFIX}_{level.name}_{_source_digest()}"


def export_name(module: str, function: str) -> str:
    """Return the name of a kernel in the module: an identifier."""
    return f"{module.removeprefix(_PACKAGE + '.').replace('.', '__')}__{function}"


@cache
def _source_digest() -> str:
    """Digest all sources that kernels or their constants and tuples may stand in."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for file in (root / "core" / "arrays.py", *sorted((root / "trees").rglob("*.py"))):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(root).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]
