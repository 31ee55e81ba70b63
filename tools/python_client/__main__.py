"""Parts of the Python client that are generated from the contract: options, arguments, results.

Usage: python -m tools.python_client DESCRIPTORS FOLDER

DESCRIPTORS is a FileDescriptorSet with comments and imports, as protoc writes it. FOLDER gets
what stands in clients/python/onnxplain/requests: one file in options/ for each file of the
contract that has options of a method, arguments.py, and what stands beside: by_method.py in
results, enum_names.py as enumerations/names.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorSet

from tools.python_client import arguments, enum_names, options, results
from tools.python_client.contract import Contract


def main(descriptors: Path, folder: Path) -> None:
    """Write the files."""
    files = FileDescriptorSet.FromString(descriptors.read_bytes())
    contract = Contract(files)
    (folder / "options").mkdir(parents=True, exist_ok=True)
    for name, source in options.modules(contract).items():
        (folder / "options" / f"{name}.py").write_text(source, encoding="utf-8")
    (folder / "enum_names.py").write_text(enum_names.module(files), encoding="utf-8")
    (folder / "arguments.py").write_text(arguments.module(contract), encoding="utf-8")
    (folder / "by_method.py").write_text(results.module(contract), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
