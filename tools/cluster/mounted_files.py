"""Files of a mounted Secret or ConfigMap, replaced all at once as a kubelet does.

`NAME` is a link to `..data/NAME`, and `..data` a link to a folder with one state of all files. A
change writes a new folder and renames the link, so no reader sees files of two states.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

_DATA = "..data"


def write_files(folder: Path, entries: Mapping[str, bytes]) -> None:
    """Make the folder hold these files; nothing changes where it does already."""
    folder.mkdir(exist_ok=True)
    data = folder / _DATA
    present = {file.name: file.read_bytes() for file in data.glob("*")} if data.exists() else None
    if present == entries:
        return
    previous = data.resolve() if data.exists() else None
    state = Path(tempfile.mkdtemp(prefix="..", dir=folder))
    # Users of the container read it.
    state.chmod(0o755)
    for name, content in entries.items():
        (state / name).write_bytes(content)
    link = folder / "..data_tmp"
    link.symlink_to(state.name)
    link.replace(data)
    for name in entries.keys() - (present or {}).keys():
        (folder / name).symlink_to(f"{_DATA}/{name}")
    for name in (present or {}).keys() - entries.keys():
        (folder / name).unlink()
    if previous is not None:
        shutil.rmtree(previous)
