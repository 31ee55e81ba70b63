"""Writes the description of REST from the contract.

Usage: python -m tools.openapi DESCRIPTORS FILE

DESCRIPTORS is a FileDescriptorSet with comments and imports, as protoc writes it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorSet

from tools.contract.limits import read
from tools.openapi import comments
from tools.openapi.document import document, encode


def main(descriptors: Path, file: Path) -> None:
    """Write the description."""
    files = FileDescriptorSet.FromString(descriptors.read_bytes())
    file.write_text(encode(document(comments.read(files), read(files))), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
