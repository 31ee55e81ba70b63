"""Renderer of plots, vl-convert: an extra of the package, as it is larger than all of its code."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

# Newest release in vl-convert of the major version of the plots.
_VEGA_LITE = "6.4"

# Pixels per unit, for sharp print and dense screens.
_SCALE = 2.0

_MODULE = "vl_convert"


class RendererMissingError(ImportError):
    """Renderer that is not installed; the text names the command that installs it."""

    def __init__(self) -> None:
        super().__init__(
            "SVG and PNG pictures need the renderer, which is not installed: "
            "pip install 'onnxplain-server[render]'"
        )


def require() -> None:
    """Raise RendererMissingError where the renderer is not installed."""
    if find_spec(_MODULE) is None:
        raise RendererMissingError


def svg(vega_lite: str) -> str:
    """Draw a specification as SVG, without network access; ValueError if it is invalid."""
    return str(_renderer().vegalite_to_svg(vega_lite, vl_version=_VEGA_LITE, allowed_base_urls=[]))


def png(vega_lite: str) -> bytes:
    """Draw a specification as PNG, without network access; ValueError if it is invalid."""
    drawn = _renderer().vegalite_to_png(
        vega_lite, vl_version=_VEGA_LITE, allowed_base_urls=[], scale=_SCALE
    )
    return bytes(drawn)


def _renderer() -> Any:
    require()
    return import_module(_MODULE)
