"""Environments that onnxplain is tried in: Pythons, and dependencies at their ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """One environment: a Python, how dependencies are chosen, and versions that are demanded."""

    name: str
    python: str = "3.11"
    resolution: str = "highest"
    """As uv has it: `highest`, or `lowest-direct`, the lowest that pyproject.toml allows."""
    demands: Sequence[str] = ()
    image: str = ""
    """Processor, by Debian's name, that the image is built for and run on by emulation, instead."""


CASES = (
    Case("newest of all"),
    Case("lowest of all", resolution="lowest-direct"),
    Case("Python 3.12", python="3.12"),
    Case("Python 3.13", python="3.13"),
    Case("NumPy, lowest", demands=("numpy==2.2.0",)),
    Case("protobuf, lowest", demands=("protobuf==6.31.1",)),
    Case("onnxruntime, last minor", demands=("onnxruntime==1.32.*",)),
    Case("onnxruntime, one before", demands=("onnxruntime==1.31.*",)),
    Case("onnxruntime, two before", demands=("onnxruntime==1.30.*",)),
    Case("arm64, emulated", image="arm64"),
)

SHOWN = ("numpy", "onnxruntime", "protobuf", "grpcio", "pyarrow", "scikit-learn")
"""Packages whose versions the table shows."""

TESTS = ("tests/conformance",)
"""All methods over gRPC, REST and the command line of a real server, against kept answers."""

TEST_PACKAGES = ("hypothesis", "pytest", "pytest-randomly", "rfc8785")
