"""Build hook of hatchling: a wheel brings the kernels compiled, for one platform and one Python.

Not on macOS and Windows, nor with ONNXPLAIN_WITHOUT_LOOPS=1: such a wheel is for all systems, takes
no compiler, and requires numba, which compiles each loop at its first use.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_KERNELS = "onnxplain_server/trees/kernels"


class CompiledKernels(BuildHookInterface[Any]):
    """Adds the modules of `trees/kernels/ahead_of_time.py`; an editable install goes without."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile into a temporary folder, and name the modules as files of the wheel."""
        if not self._compiles(version):
            if version != "editable":
                build_data["dependencies"] += self.metadata.core.optional_dependencies["jit"]
            return
        self._folder = tempfile.TemporaryDirectory()
        _compile(Path(self.root) / "service", self._folder.name)
        modules = sorted(Path(self._folder.name).iterdir())
        build_data["force_include"] |= {str(each): f"{_KERNELS}/{each.name}" for each in modules}
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary folder."""
        del build_data, artifact_path
        if self._compiles(version):
            self._folder.cleanup()

    @staticmethod
    def _compiles(version: str) -> bool:
        is_asked = os.environ.get("ONNXPLAIN_WITHOUT_LOOPS") != "1"
        return version != "editable" and sys.platform == "linux" and is_asked


def _compile(sources: Path, folder: str) -> None:
    module = _KERNELS.replace("/", ".") + ".ahead_of_time"
    # Of PYTHONPATH, pip makes the environment that holds the build's requirements.
    paths = filter(None, (str(sources), os.environ.get("PYTHONPATH")))
    done = subprocess.run(  # noqa: S603 - our own module, by our own interpreter
        [sys.executable, "-m", module, folder],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    sys.stderr.write(done.stderr)
    if done.returncode:
        cause = _cause(done.returncode, done.stderr)
        raise SystemExit(f"onnxplain-server: compiling its loops failed: {cause}")


def _cause(status: int, errors: str) -> str:
    """Return why a process failed: its signal, or the last line that it wrote."""
    if status < 0:
        return f"the compiling process was ended by {signal.Signals(-status).name}"
    cause = (errors.strip().splitlines() or [f"the compiling process ended by status {status}"])[-1]
    if cause.startswith("ModuleNotFoundError: "):
        return f"{cause}; [build-system] in pyproject.toml names what the build requires"
    return cause
