"""Fuzz one decoder by atheris: python tests/fuzz/one.py TARGET [libFuzzer's options]."""

from __future__ import annotations

import resource
import sys

import atheris

with atheris.instrument_imports(include=["onnxplain_server", "jwt", "waitress"]):
    from targets import TARGETS

_ADDRESS_SPACE = 3 << 30
"""Of a worker: a kilobyte of Parquet can declare gigabytes, and is then refused for memory."""


def main() -> None:
    """Run until a fault is found, or the options say that it is enough."""
    name, *options = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    atheris.Setup([sys.argv[0], *options], TARGETS[name])
    atheris.Fuzz()


main()
