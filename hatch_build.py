"""Build hook of hatchling: a wheel brings the kernels compiled, for one platform and one Python."""

from __future__ import annotations

import os
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
        if version == "editable":
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
        if version != "editable":
            self._folder.cleanup()


def _compile(sources: Path, folder: str) -> None:
    module = _KERNELS.replace("/", ".") + ".ahead_of_time"
    done = subprocess.run(  # noqa: S603 - our own module, by our own interpreter
        [sys.executable, "-m", module, folder],
        env=os.environ | {"PYTHONPATH": str(sources)},
        check=False,
    )
    if done.returncode:
        raise SystemExit(
            "onnxplain-server: compiling its loops failed; it needs a C compiler (g++)"
        )
