"""Overview of an answer: sentences, warnings, first plots of each method, a receipt in one line."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, Protocol

from onnxplain.display.figure import Drawable, figure

_PLOT_COUNT = 2
"""Plots of each method that the overview shows; the others it names."""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em }}
table {{ border-collapse: collapse; font-size: 0.9em }}
td, th {{ padding: 0.15em 0.6em; border-bottom: 1px solid #ddd }}
.result {{ overflow-x: auto }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


class NamedPlot(Drawable, Protocol):
    """Plot that an answer finds by its name."""

    @property
    def name(self) -> str: ...


class Shown(Protocol):
    """Result of one method."""

    @property
    def plots(self) -> Sequence[NamedPlot]: ...
    @property
    def rows(self) -> Any: ...
    def _repr_html_(self) -> str: ...


class Answer(Protocol):
    """Parts of an answer beside its results."""

    @property
    def summary(self) -> Sequence[str]: ...
    @property
    def warnings(self) -> Sequence[Any]: ...
    @property
    def receipt(self) -> Any: ...


def overview(sections: Sequence[tuple[str, Shown]], answer: Answer) -> str:
    """Return a fragment: sentences, and for each method few plots, or its table without plots.

    Parameters
    ----------
    sections : sequence of (str, result)
        Title and result of each method.
    answer : Answer
        Of the results.
    """
    parts = [_section(title, result, _PLOT_COUNT) for title, result in sections]
    return "\n".join([*_head(answer), *parts, *_made(answer)])


def page(title: str, sections: Sequence[tuple[str, Shown]], answer: Answer) -> str:
    """Return a page with all plots and tables, which are drawn as in a notebook."""
    parts = [_section(name, r, len(r.plots)) + _table(r) for name, r in sections]
    body = "\n".join([*_head(answer), *parts, *_made(answer)])
    return _PAGE.format(title=escape(title), body=body)


def _head(answer: Answer) -> list[str]:
    """Write the sentences of the summary, the first as a headline, and warnings."""
    first, *others = answer.summary or [""]
    listed = "".join(f"<li>{escape(sentence)}</li>" for sentence in others)
    sentences = [f"<p><b>{escape(first)}</b></p>"] if first else []
    return [*sentences, *([f"<ul>{listed}</ul>"] if listed else []), *_warnings(answer.warnings)]


def _warnings(warnings: Sequence[Any]) -> list[str]:
    """Write the doubts; other warnings are sentences, or tell how the answer was made."""
    return [f"<p>⚠ {escape(one.message)}</p>" for one in warnings if one.kind == "DOUBT"]


def _made(answer: Answer) -> list[str]:
    """Write how the answer was made, at its end."""
    told = [one.message for one in answer.warnings if one.kind == "HOW_IT_WAS_MADE"]
    return [*(f"<p><small>{escape(text)}</small></p>" for text in told), _receipt(answer.receipt)]


def _section(title: str, result: Shown, plot_count: int) -> str:
    parts = [f"<h4>{escape(title)}</h4>"]
    if result.rows:
        parts.append(f"<p>{escape(str(result.rows))}</p>")
    parts += [f"<div>{figure(plot)}</div>" for plot in result.plots[:plot_count]]
    others = ", ".join(f'<code>plot("{escape(p.name)}")</code>' for p in result.plots[plot_count:])
    if others:
        parts.append(f"<p>More plots: {others}</p>")
    if not result.plots:
        parts.append(result._repr_html_())
    return "\n".join(parts)


def _table(result: Shown) -> str:
    return f'\n<div class="result">{result._repr_html_()}</div>' if result.plots else ""


def _receipt(receipt: Any) -> str:
    facts = [
        f"{receipt.predicted_row_count:,} rows predicted",
        f"engine {receipt.engine}: {receipt.engine_reason}".rstrip(": ") if receipt.engine else "",
        f"{receipt.elapsed.total_seconds():.1f} s",
        f"onnxplain {receipt.server_version}" if receipt.server_version else "",
    ]
    return f"<p><small>{escape(' · '.join(filter(None, facts)))}</small></p>"
