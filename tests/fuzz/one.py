"""Fuzz one decoder by atheris: python tests/fuzz/one.py TARGET [libFuzzer's options]."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["onnxplain_server", "jwt", "waitress"]):
    from targets import TARGETS


def main() -> None:
    """Run until a fault is found, or the options say that it is enough."""
    name, *options = sys.argv[1:]
    atheris.Setup([sys.argv[0], *options], TARGETS[name])
    atheris.Fuzz()


main()
