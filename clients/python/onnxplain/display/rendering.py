"""Rendering of Vega-Lite specifications as still pictures, by vl-convert where it is installed."""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

PNG_SCALE = 2.0
"""Pixels of a PNG per unit of the plot, for dense screens and print."""

_MODULE = "vl_convert"
_KEPT_COUNT = 64  # pictures of the last plots, which a notebook shows more than once
_MAJOR = re.compile(r"/vega-lite/v(\d+)")
_PNG, _PIXELS, _END = b"\x89PNG\r\n\x1a\n", b"IDAT", b"IEND"


class RenderingError(Exception):
    """A plot that the installed renderer cannot draw; the text says why."""


def is_installed() -> bool:
    """Tell whether there is a renderer: by `onnxplain[notebook]` or `onnxplain-server[render]`."""
    return find_spec(_MODULE) is not None


@lru_cache(_KEPT_COUNT)
def png(vega_lite: str) -> bytes:
    """Draw as PNG, of `PNG_SCALE` pixels per unit.

    Raises
    ------
    RenderingError
    """
    version = _version(json.loads(vega_lite))
    try:
        content = import_module(_MODULE).vegalite_to_png(
            vega_lite, vl_version=version, allowed_base_urls=[], scale=PNG_SCALE
        )
    except ValueError as error:
        cause = str(error).strip().splitlines()[0][:200]
        raise RenderingError(f"the plot cannot be drawn: {cause}") from None
    return _compressed(bytes(content))


def size(content: bytes) -> tuple[float, float]:
    """Return width and height of a PNG, in units of the plot."""
    width, height = struct.unpack(">II", content[16:24])  # of the header
    return width / PNG_SCALE, height / PNG_SCALE


def library(spec: dict[str, Any]) -> str:
    """Return Vega, Vega-Lite and vega-embed as one script, about 0.9 MB; sets `vegaEmbed`.

    Raises
    ------
    RenderingError
    """
    return _library(_version(spec))


@cache
def _library(version: str) -> str:
    script = "window.vegaEmbed = vegaEmbed;"
    return str(import_module(_MODULE).javascript_bundle(script, vl_version=version))


def _compressed(content: bytes) -> bytes:
    """Compress a PNG well, to a third: notebooks keep it, and the renderer prefers speed."""
    chunks = list(_chunks(content))
    pixels = zlib.decompress(b"".join(data for kind, data in chunks if kind == _PIXELS))
    head, tail = [c for c in chunks if c[0] not in {_PIXELS, _END}], (_END, b"")
    written = [*head, (_PIXELS, zlib.compress(pixels)), tail]
    return _PNG + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in written
    )


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the kind and data of each part of a PNG."""
    start = len(_PNG)
    while start < len(content):
        (length,) = struct.unpack_from(">I", content, start)
        yield content[start + 4 : start + 8], content[start + 8 : start + 8 + length]
        start += 12 + length


def _version(spec: dict[str, Any]) -> str:
    """Return the newest version of Vega-Lite that the renderer has of the plot's major version."""
    major = _MAJOR.search(str(spec.get("$schema", "")))
    known: list[str] = import_module(_MODULE).get_vegalite_versions()
    versions = [version for version in known if major and version.split(".")[0] == major[1]]
    if not versions:
        asked = f"Vega-Lite {major[1]}" if major else "a Vega-Lite of no version"
        raise RenderingError(f"the plot is of {asked}; the renderer has {', '.join(known)}")
    return max(versions, key=lambda version: tuple(map(int, version.split("."))))
