"""Findings on stability: conclusions, and how many replicates of the rows agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnxplain.v1.explanation_service_pb2 import Conclusion, Explanation

from onnxplain_server.plots.elements.labels import clean
from onnxplain_server.report.finding import Finding, Heading, joined, truncate

_FIRST_RANKS = 5


def of_conclusions(explanation: Explanation) -> Iterator[Finding]:
    """Write the ranks of the first features, the strongest pairs and the signs of slopes."""
    told = [one for one in explanation.conclusions if one.rank <= _FIRST_RANKS]
    outputs = {one.output_name for one in told}
    shown, left_out = truncate(told, 1, "others")
    level = _level(explanation)
    rows = [
        (
            *([clean(one.output_name)] if len(outputs) > 1 else []),
            _in_words(one),
            f"{100 * one.replicate_share:.3g} %",
            f"{one.rank_lower} to {one.rank_upper}" if one.kind == Conclusion.RANK else "",
        )
        for one in shown
    ]
    columns = (
        *([Heading("output")] if len(outputs) > 1 else []),
        Heading("conclusion"),
        Heading("replicates that agree", is_number=True),
        Heading(f"{level} interval of the rank", is_number=True),
    )
    has_ranks = any(row[-1] for row in rows)
    yield Finding(
        "What other rows would also show",
        "how many replicates of the rows lead to the same conclusion; sentences use those with "
        "95 % or more",
        "replicates tell the chance of the rows, not that of another training of the model",
        columns if has_ranks else columns[:-1],
        tuple(row if has_ranks else row[:-1] for row in rows),
        left_out,
    )


def _level(explanation: Explanation) -> str:
    result = getattr(explanation, explanation.WhichOneof("result") or "", None)
    return f"{100 * getattr(result, 'confidence_level', 0.0):.3g} %"


def _in_words(one: Conclusion) -> str:
    group = f" in the group {clean(one.group)}" if one.group else ""
    if one.kind == Conclusion.RANK:
        return f"{_names(one.features)} has rank {one.rank} by importance"
    if one.kind == Conclusion.STRONGEST_PAIR:
        return f"{_names(one.features)} is the strongest pair"
    return f"the curve of {_names(one.features)}{group} {'rises' if one.sign > 0 else 'falls'}"


def _names(features: Sequence[str]) -> str:
    return joined(features)
