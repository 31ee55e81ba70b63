"""The image for arm64, run by emulation: it gives the numbers of this machine's processor.

`make test-arm64` builds it and runs this, as root. BUILDAH is the command, TEST_IMAGE the image's
name.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from image_root import Image, mounted

MIAMI = Path(__file__).parents[3] / "examples/miami"
FOLDER = Path("srv/miami")
QUESTION = ("miami.onnx", "table.csv", "--request", "request.json")
ACCURACY = 1e-9
"""Relative, and absolute below 1: other instructions may round otherwise."""


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    """The image, with the example in it."""
    with mounted(os.environ["TEST_IMAGE"]) as found:
        copy_example(found.root / FOLDER)
        yield found


def copy_example(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name in ("miami.onnx", "request.json"):
        shutil.copy(MIAMI / name, folder)
    (folder / "table.csv").write_bytes(
        gzip.decompress((MIAMI / "miami_housing.csv.gz").read_bytes())
    )


def test_the_image_is_for_arm64(image: Image) -> None:
    machine = image.output("python3", "-c", "import platform; print(platform.machine())")

    assert machine.strip() == "aarch64"


def test_an_answer_has_the_numbers_of_this_machine(image: Image, tmp_path: Path) -> None:
    copy_example(tmp_path / "miami")
    command = [str(Path(sys.executable).with_name("onnxplain")), "explain", *QUESTION]
    expected = json.loads(subprocess.check_output(command, cwd=tmp_path / "miami"))

    actual = json.loads(
        image.output("sh", "-c", f"cd /{FOLDER} && onnxplain explain {' '.join(QUESTION)}")
    )

    assert actual["receipt"]["engine"] == expected["receipt"]["engine"] == "TREES"
    assert actual["receipt"]["modelDigest"] == expected["receipt"]["modelDigest"]
    differences = list(compared(actual["explanations"], expected["explanations"], ""))
    assert len(differences) > 500
    far = [
        f"{place}: {difference}" for place, difference in differences if not difference <= ACCURACY
    ]
    assert not far


def compared(actual: Any, expected: Any, place: str) -> Iterator[tuple[str, float]]:
    """Yield each number's place and its relative difference; all else must be equal."""
    assert type(actual) is type(expected), place
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys(), place
        for key in expected:
            yield from compared(actual[key], expected[key], f"{place}.{key}")
    elif isinstance(expected, list):
        assert len(actual) == len(expected), place
        for number, (one, other) in enumerate(zip(actual, expected, strict=True)):
            yield from compared(one, other, f"{place}[{number}]")
    elif isinstance(expected, float):
        yield place, abs(actual - expected) / max(abs(expected), 1.0)
    else:
        assert actual == expected, place
