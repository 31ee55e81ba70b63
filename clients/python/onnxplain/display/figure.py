"""HTML of one plot: a still picture, an interactive page, or a button where nothing can draw it."""

from __future__ import annotations

import base64
import json
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, Protocol
from uuid import uuid4

from onnxplain.display import rendering

INSTALL = 'pip install "onnxplain[notebook]"'

# What a browser draws with: the files of npm's packages, byte by byte as their digests say.
_CDN = "https://cdn.jsdelivr.net/npm"
SOURCES = (
    {
        "url": f"{_CDN}/vega@6.2.0/build/vega.min.js",
        "integrity": "sha384-0Wc8+KeboSkAq/fK81pd4uFbWKu4ouB+y4KWCYxlC69hRWol7vnc6zZSruXOtc0F",
    },
    {
        "url": f"{_CDN}/vega-lite@6.4.0/build/vega-lite.min.js",
        "integrity": "sha384-vWc0gNpzNTxjhY6GT2Nolehsr0rsc08GmIbpcx1Lr8RnkGL7aMmIhkfTrEnRIb/V",
    },
    {
        "url": f"{_CDN}/vega-embed@7.0.2/build/vega-embed.min.js",
        "integrity": "sha384-MsH1NE1KRDpmMJCcJ8Ulqhadgiz4lT0GIaHN7DKB1POKAoBhSWywPDQ2sJDkP8M7",
    },
)

# HTML escapes do not work inside <script>; JSON escapes of these characters are safe there.
_IN_SCRIPT = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'">
<title>{title}</title>
<script>{library}</script>
</head>
<body>
<main id="plot"></main>
<script>
({draw})(document.getElementById("plot"), {spec}, []);
new ResizeObserver(() => {{
  const frame = window.frameElement;
  if (frame) frame.style.height = `${{document.documentElement.offsetHeight + 20}}px`;
}}).observe(document.documentElement);
</script>
</body>
</html>
"""


class Drawable(Protocol):
    """Plot of a result."""

    @property
    def title(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def vega_lite(self) -> str: ...
    @property
    def spec(self) -> dict[str, Any]: ...


def figure(plot: Drawable) -> str:
    """Return a fragment: the still picture, or a button where no renderer is installed."""
    if not rendering.is_installed():
        return _button(plot)
    try:
        content = rendering.png(plot.vega_lite)
    except rendering.RenderingError as error:
        return _words(plot, escape(str(error)))
    # Of pixels, since a browser may lack the fonts that the text of an SVG was laid out for.
    source = f"data:image/png;base64,{base64.b64encode(content).decode()}"
    width, _ = rendering.size(content)
    style = f"width: {width:g}px; max-width: 100%; height: auto"
    return f'<img alt="{escape(_spoken(plot))}" src="{source}" style="{style}">'


def still_pictures(plot: Drawable) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return PNG as data and metadata of a MIME bundle; both empty where it cannot be drawn."""
    if not rendering.is_installed():
        return {}, {}
    try:
        content = rendering.png(plot.vega_lite)
    except rendering.RenderingError:
        return {}, {}
    width, height = rendering.size(content)
    sizes = {"image/png": {"width": width, "height": height}}
    return {"image/png": base64.b64encode(content).decode()}, sizes


def page(plot: Drawable) -> str:
    """Return an interactive page, which loads nothing.

    Raises
    ------
    ImportError
        Where no renderer is installed.
    rendering.RenderingError
    """
    if not rendering.is_installed():
        raise ImportError(f"an interactive plot needs Vega, which comes by: {INSTALL}")
    return _PAGE.format(
        title=escape(plot.title),
        library=rendering.library(plot.spec),
        draw=_draw(),
        spec=_in_script(plot.spec),
    )


def frame(title: str, html: str) -> str:
    """Return a fragment that holds a page, as high as its content."""
    style = "width: 100%; height: 30em; border: 0"
    return f'<iframe title="{escape(title)}" style="{style}" srcdoc="{escape(html)}"></iframe>'


def _button(plot: Drawable) -> str:
    """Draw in the browser when asked: no other host is asked for anything before."""
    name = f"onnxplain-{uuid4().hex}"
    advice = f"Not drawn yet. To draw plots in this process: <code>{escape(INSTALL)}</code>. "
    arguments = f'document.getElementById("{name}"), {_in_script(plot.spec)}, {_in_script(SOURCES)}'
    return (
        f'<div id="{name}">{_words(plot, advice)}</div>\n<script>({_draw()})({arguments});</script>'
    )


def _words(plot: Drawable, note: str) -> str:
    return f"<p>{escape(_spoken(plot))}<br><small>{note}</small></p>"


def _spoken(plot: Drawable) -> str:
    """Return title and description; the latter alone where it begins with the title."""
    is_titled = plot.description.startswith(plot.title)
    return plot.description if is_titled else f"{plot.title}. {plot.description}"


def _in_script(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).translate(_IN_SCRIPT)


@cache
def _draw() -> str:
    return files("onnxplain.display").joinpath("draw.js").read_text(encoding="utf-8").strip()
