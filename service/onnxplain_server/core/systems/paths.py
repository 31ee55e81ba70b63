"""Paths of files that addresses name: on Windows the first part of one is a drive."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import TypeVar

_AnyPath = TypeVar("_AnyPath", bound=PurePath)


def path_of(segments: Sequence[str], kind: type[_AnyPath]) -> _AnyPath:
    """Return the path of a file, by the parts of its address: file:///C:/rows.csv on Windows."""
    first, *rest = segments or ("",)
    is_drive = bool(kind(first).drive)
    return kind(f"{first}/" if is_drive else f"/{first}", *rest)


def segments_of(path: PurePath) -> tuple[str, ...]:
    """Return the parts of the address of an absolute path; see `path_of`."""
    return (path.drive, *path.parts[1:]) if path.drive else path.parts[1:]


def local_path(segments: Sequence[str]) -> Path:
    """Return the path on this system; see `path_of`."""
    return path_of(segments, Path)
