"""Kernels of a checkout, compiled ahead of time: one module, of the present sources."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from onnxplain_server.trees.kernels import ahead_of_time
from onnxplain_server.trees.kernels.compiled_module import module_name, own_level


def test_a_module_of_other_sources_goes_and_that_of_the_present_ones_stays(tmp_path: Path) -> None:
    package = Path(ahead_of_time.__file__).parents[2]
    copied = tmp_path / package.name
    shutil.copytree(package, copied, ignore=shutil.ignore_patterns("_compiled_*", "__pycache__"))
    folder = copied / "trees" / "kernels"
    present = f"{module_name(own_level())}{sysconfig.get_config_var('EXT_SUFFIX')}"
    for name in (present, "_compiled_generic_0123456789abcdef.so"):
        (folder / name).write_bytes(b"machine code")

    subprocess.run(
        [sys.executable, "-m", ahead_of_time.__name__, "--in-place"],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        check=True,
    )

    assert [path.name for path in folder.glob("_compiled_*")] == [present]
    assert (folder / present).read_bytes() == b"machine code"


@pytest.mark.parametrize("variable", ["CC", "CXX"])
def test_a_compiler_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "no-such-compiler -pthread")

    assert "C compiler not found: no-such-compiler" in str(ahead_of_time._missing())


def test_headers_of_python_that_are_not_there_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(shutil, "which", str)
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))

    assert "Python's headers not found" in str(ahead_of_time._missing())


def test_a_compiling_process_that_fails_gives_its_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def start(folder: Path, level: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", "import sys; sys.exit('the cause')"]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    monkeypatch.setattr(ahead_of_time, "_start", start)

    with pytest.raises(subprocess.CalledProcessError) as failed:
        ahead_of_time.compile_kernels(tmp_path)
    assert failed.value.stderr == "the cause\n"
