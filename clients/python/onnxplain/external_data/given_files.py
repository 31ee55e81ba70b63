"""Files that came with a model: each must be named by it, and each name must have come."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from onnxplain.external_data.inlining import MOST_BYTES, ValueFile, in_one_piece, refusal


def with_files(
    content: bytes, files: Sequence[tuple[str, bytes | memoryview]], most_bytes: int = MOST_BYTES
) -> bytes:
    """Put the values of files into the model that names them; see `in_one_piece`.

    `files` have names, as the model has them, and contents. EXTERNAL_DATA also for a file that came
    twice, or that the model does not name.
    """
    given = {str(PurePosixPath(name)): memoryview(file) for name, file in files}
    if len(given) < len(files):
        raise refusal("two files of the model have one name; send each once")
    unused = set(given)

    def find(name: str) -> ValueFile:
        if name not in given:
            came = ", ".join(f'"{each[:80]}"' for each in sorted(given)[:5]) or "none"
            raise refusal(
                f'the model has values in the file "{name[:200]}", which did not come with it; '
                f"files that came: {came}"
            )
        unused.discard(name)
        file = given[name]
        return ValueFile(len(file), lambda start, length: file[start : start + length])

    whole = in_one_piece(content, find, most_bytes)
    if unused:
        raise refusal(
            f'the model names no file "{min(unused)[:200]}"; send those that it names, by the '
            "names that it has"
        )
    return whole
