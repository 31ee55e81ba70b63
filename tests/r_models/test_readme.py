"""The README of the R package does what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "clients" / "r"


@pytest.mark.slow
def test_the_readme_explains_a_forest(program: Callable[[str], str], tmp_path: Path) -> None:
    """By its own lines, in a folder as that of the checkout, with a library of its own."""
    blocks = re.findall(
        r"^```r\n(.*?)^```$", (PACKAGE / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    (tmp_path / "clients").symlink_to(PACKAGE.parent)
    (tmp_path / "library").mkdir()
    command = tmp_path / "onnxplain"
    # R sets a path of libraries, by which a Python that is not the system's finds the wrong ones.
    command.write_text(
        f'#!/bin/sh\nunset LD_LIBRARY_PATH\nexec {sys.executable} -m onnxplain_server "$@"\n'
    )
    command.chmod(0o755)
    rows = "write.csv(iris, 'rows.csv', row.names = FALSE)\n"
    environment = os.environ | {
        "R_LIBS_USER": str(tmp_path / "library"),
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "LC_ALL": "C.UTF-8",
    }

    done = subprocess.run(
        [program("Rscript"), "-e", rows + "".join(blocks)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert re.search(r"Petal\.Length +[\d.e−]+", done.stdout), done.stdout
