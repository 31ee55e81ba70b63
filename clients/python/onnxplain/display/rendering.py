"""Rendering of Vega-Lite specifications as still pictures, by vl-convert where it is installed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

PNG_SCALE = 1.5
"""Pixels of a PNG per unit of the plot, for dense screens and print."""

_MODULE = "vl_convert"
_KEPT_COUNT = 64  # pictures of the last plots, which a notebook shows more than once
_MAJOR = re.compile(r"/vega-lite/v(\d+)")
_ALONE: Mapping[str, list[str]] = {"allowed_base_urls": []}
"""Keyword argument by which the renderer loads nothing."""


class RenderingError(Exception):
    """A plot that the installed renderer cannot draw; the text says why."""


def is_installed() -> bool:
    """Tell whether there is a renderer: by `onnxplain[notebook]`, or by the server's package."""
    return find_spec(_MODULE) is not None


@lru_cache(_KEPT_COUNT)
def svg(vega_lite: str) -> str:
    """Draw as SVG.

    Raises
    ------
    RenderingError
    """
    return str(_draw("vegalite_to_svg", vega_lite))


@lru_cache(_KEPT_COUNT)
def png(vega_lite: str) -> bytes:
    """Draw as PNG, of `PNG_SCALE` pixels per unit.

    Raises
    ------
    RenderingError
    """
    return bytes(_draw("vegalite_to_png", vega_lite, scale=PNG_SCALE))


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


def _draw(function: str, vega_lite: str, **options: Any) -> Any:
    version = _version(json.loads(vega_lite))
    draw = getattr(import_module(_MODULE), function)
    try:
        return draw(vega_lite, vl_version=version, **_ALONE, **options)
    except ValueError as error:
        cause = str(error).strip().splitlines()[0][:200]
        raise RenderingError(f"the plot cannot be drawn: {cause}") from None


def _version(spec: dict[str, Any]) -> str:
    """Return the newest version of Vega-Lite that the renderer has of the plot's major version."""
    major = _MAJOR.search(str(spec.get("$schema", "")))
    known: list[str] = import_module(_MODULE).get_vegalite_versions()
    versions = [version for version in known if major and version.split(".")[0] == major[1]]
    if not versions:
        asked = f"Vega-Lite {major[1]}" if major else "a Vega-Lite of no version"
        raise RenderingError(f"the plot is of {asked}; the renderer has {', '.join(known)}")
    return max(versions, key=lambda version: tuple(map(int, version.split("."))))
