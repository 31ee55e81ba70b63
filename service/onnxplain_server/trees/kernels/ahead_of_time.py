"""Ahead-of-time compilation of all kernels, into modules that need no numba.

    python -m onnxplain_server.trees.kernels.ahead_of_time FOLDER

writes one module per processor level. The build of a wheel does so (`hatch_build.py`). With
`--in-place`, the module for this machine goes into this package, for a checkout. The compiler is
numba.pycc, so the machine code is that of `jit`; it needs a C compiler.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any
from unittest.mock import patch

from onnxplain_server import trees
from onnxplain_server.trees.kernels.compile import KERNELS
from onnxplain_server.trees.kernels.compiled_module import (
    PREFIX,
    Level,
    export_name,
    levels,
    module_name,
    own_level,
)

_REPRODUCIBLE = {"CFLAGS": "-g0", "LDFLAGS": "-s", "PYTHONHASHSEED": "0"}
"""No names of temporary files in the module, and no order that hangs on chance."""


def compile_kernels(folder: Path, chosen: tuple[Level, ...] = levels()) -> list[Path]:
    """Write the module of each level into a folder, and return their paths.

    Raises
    ------
    subprocess.CalledProcessError
        Where the compilation of a level fails; its `stderr` says why.
    """
    processes = [_start(folder, level) for level in chosen]
    # All end before one is judged: a folder that is removed after a failure has no writers.
    errors = [process.communicate()[1] for process in processes]
    for process, error in zip(processes, errors, strict=True):
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, process.args, stderr=error)
        sys.stderr.write(error)
    return [folder / _file_name(level) for level in chosen]


def _compile_in_place() -> None:
    """Put the module for this machine into this folder, in place of those of other sources."""
    folder, level = Path(__file__).parent, own_level()
    for outdated in folder.glob(f"{PREFIX}_*"):
        if outdated.name != _file_name(level):
            outdated.unlink()
    if not (folder / _file_name(level)).exists():
        compile_kernels(folder, (level,))


def _start(folder: Path, level: Level) -> subprocess.Popen[str]:
    """Start a process that compiles for one level: numba takes it from the environment."""
    command = [sys.executable, "-m", f"{__package__}.ahead_of_time", str(folder)]
    processor = {"NUMBA_CPU_NAME": level.processor, "NUMBA_CPU_FEATURES": ""}
    return subprocess.Popen(  # noqa: S603 - our own module, by our own interpreter
        [*command, "--level", level.name],
        env=os.environ | processor | _REPRODUCIBLE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    )


def _file_name(level: Level) -> str:
    return f"{module_name(level)}{sysconfig.get_config_var('EXT_SUFFIX')}"


def _missing() -> str | None:
    """Return what this machine lacks of a C compiler, with what else compiles C."""
    for variable in ("CC", "CXX"):
        command = os.environ.get(variable) or sysconfig.get_config_var(variable)
        if command and shutil.which(shlex.split(command)[0]) is None:
            return f"C compiler not found: {command} (Debian: g++)"
    header = Path(sysconfig.get_path("include"), "Python.h")
    return (
        None if header.exists() else f"Python's headers not found: {header} (Debian: python3-dev)"
    )


def _compile(folder: Path, level: Level) -> None:
    from numba.pycc import cc, compiler, platform

    from onnxplain_server.trees.kernels.jit import numba_type, register_inlined

    if missing := _missing():
        sys.exit(missing)
    for found in pkgutil.walk_packages(trees.__path__, f"{trees.__name__}."):
        importlib.import_module(found.name)
    register_inlined()
    if not platform.external_compiler_works():
        sys.exit("C compiler found, but it fails to compile an empty program")
    module: Any = cc.CC(module_name(level), source_module=trees)  # type: ignore[no-untyped-call]
    module.output_dir, module.output_file = str(folder), _file_name(level)
    module.target_cpu = level.processor
    for each in KERNELS:
        name = export_name(each.function.__module__, each.function.__qualname__)
        types = tuple(numba_type(kind) for kind in each.types.values())
        module.export(name, types)(each.function)
    # pycc has no parameter for them.
    with patch.object(compiler, "Flags", _flags):
        module.compile()


def _flags() -> Any:
    """Return the options of `jit.inlined`, as numba's compiler takes them."""
    from numba.core.compiler import Flags

    flags: Any = Flags()  # type: ignore[no-untyped-call]
    flags.release_gil, flags.error_model = True, "numpy"
    return flags


def _main() -> None:
    parser = argparse.ArgumentParser(description="Compile all kernels to modules without numba.")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("folder", type=Path, nargs="?")
    target.add_argument("--in-place", action="store_true")
    parser.add_argument("--level", choices=[level.name for level in levels()])
    arguments = parser.parse_args()
    if arguments.level is not None:
        (level,) = (each for each in levels() if each.name == arguments.level)
        _compile(arguments.folder, level)
        return
    try:
        _compile_in_place() if arguments.in_place else compile_kernels(arguments.folder)
    except subprocess.CalledProcessError as failed:
        sys.stderr.write(failed.stderr)
        # A process that was killed could not say so.
        sys.exit(str(failed) if failed.returncode < 0 else 1)


if __name__ == "__main__":
    _main()
