"""Vega-Lite specifications to pictures, without network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import vl_convert

from onnxplain_server.cli.failure import CommandError

# The newest that vl-convert has of the version that plots are written in.
_VEGA_LITE = "6.4"

# Twice the size in pixels, for sharp print and dense screens.
_SCALE = 2.0


def svg(vega_lite: str) -> bytes:
    """Draw as SVG."""
    with _drawable():
        text: str = vl_convert.vegalite_to_svg(
            vega_lite, vl_version=_VEGA_LITE, allowed_base_urls=[]
        )
    return text.encode()


def png(vega_lite: str) -> bytes:
    """Draw as PNG."""
    with _drawable():
        return bytes(
            vl_convert.vegalite_to_png(
                vega_lite, vl_version=_VEGA_LITE, allowed_base_urls=[], scale=_SCALE
            )
        )


@contextmanager
def _drawable() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        cause = str(error).strip().splitlines()[0][:200]
        raise CommandError("INVALID_PLOT", f"the plot cannot be drawn: {cause}") from None
