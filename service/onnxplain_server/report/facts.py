"""What surrounds the findings of an answer, as short texts."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from google.protobuf import json_format
from onnxplain.v1.explanation_service_pb2 import (
    ExplainRequest,
    ExplainResponse,
    Explanation,
    Receipt,
)
from onnxplain.v1.model_pb2 import ModelDescription, ModelInput

from onnxplain_server.plots.elements.labels import clean, enumerate_words, shorten, spell_whole
from onnxplain_server.report.registry import of_method

_DIGEST_LENGTH = len("sha256:") + 12
_OPTIONS_LENGTH = 400


class Caution(NamedTuple):
    """A warning: a stable code, and what it means here."""

    code: str
    message: str


class Fact(NamedTuple):
    """A fact: its name, and what it is."""

    name: str
    value: str


def warnings(answer: ExplainResponse) -> list[Caution]:
    """List what to know before trusting the numbers."""
    messages: list[Any] = list(answer.warnings)
    return [Caution(_text(m.code), _text(m.message)) for m in messages]


def model(description: ModelDescription) -> list[Fact]:
    """Tell what a model takes and gives."""
    scales = [ModelDescription.Scale.Name(scale) for scale in description.scales]
    facts = [
        Fact("digest", _text(description.digest)),
        Fact("inputs", "; ".join(_input(i) for i in description.inputs)),
        Fact("features", _features(description)),
        Fact("outputs", "; ".join(_text(name) for name in description.output_names)),
        Fact("targets", "name classes" if description.has_class_scores else ""),
        Fact("scales", ", ".join(scales)),
        Fact("no MARGIN because", _text(description.margin_refusal)),
        Fact("operators", ", ".join(_text(name) for name in description.operators)),
        Fact("written by", _text(description.producer)),
    ]
    return [fact for fact in facts if fact.value]


def receipt(found: Receipt) -> list[Fact]:
    """Tell how numbers were made."""
    engine = ExplainRequest.Engine.Name(found.engine) if found.engine else ""
    looked = found.cache_hit_count + found.cache_miss_count
    facts = [
        Fact("rows predicted", f"{found.predicted_row_count:,.0f}"),
        Fact("found in cache", f"{found.cache_hit_count:,} of {looked:,} effects"),
        Fact("engine", f"{engine}: {_text(found.engine_reason)}" if engine else ""),
        Fact("time", f"{found.elapsed.ToTimedelta().total_seconds():.1f} s"),
        Fact("model", shorten(_text(found.model_digest), _DIGEST_LENGTH)),
        Fact("table", shorten(_text(found.table_digest), _DIGEST_LENGTH)),
        Fact("onnxplain", _text(found.server_version)),
        *(Fact(_text(name), _text(v)) for name, v in sorted(found.library_versions.items())),
    ]
    return [fact for fact in facts if fact.value]


def title(explanation: Explanation) -> str:
    """Name the method, and what its rows are grouped by."""
    guide = of_method(explanation.WhichOneof("result") or "")
    columns = group_columns(explanation)
    return f"{guide.title}, by {enumerate_words(columns)}" if columns else guide.title


def rows(explanation: Explanation) -> str:
    """Tell the rows that the numbers of a method are computed on; empty where it needs none."""
    if not explanation.HasField("rows"):
        return ""
    used = explanation.rows
    parts = [f"{used.drawn_row_count:,} rows"]
    if used.used_row_count < used.drawn_row_count:
        parts.append(f"{used.used_row_count:,} of them used")
    if used.weight != used.used_row_count:
        parts.append(f"total weight {spell_whole(used.weight)}")
    return f"{', '.join(parts)} (seed {used.seed})"


def options(explanation: Explanation) -> str:
    """Write the options of a method, defaults filled in, as JSON in one line; long ones cut."""
    document = json_format.MessageToDict(explanation.options)
    return shorten(_text(json.dumps(document, ensure_ascii=False)), _OPTIONS_LENGTH)


def group_columns(explanation: Explanation) -> list[str]:
    """Name the columns by which a method told rows apart."""
    asked = explanation.options
    columns = [
        asked.partial_dependence.group_column,
        *asked.individual_conditional_expectation.group_columns,
        asked.average_loss.group_column,
    ]
    return [_text(column) for column in columns if column]


def _features(description: ModelDescription) -> str:
    """Name the columns of a matrix; where each is an input, the inputs tell."""
    if len(description.inputs) > 1:
        return ""
    names = [_text(name) for name in description.feature_names]
    more = f"; and {len(names) - 12} more" if len(names) > 12 else ""
    return "; ".join(names[:12]) + more


def _input(found: ModelInput) -> str:
    width = f" × {found.width}" if found.width > 1 else ""
    return f"{_text(found.name)} ({_text(found.type)}{width})"


def _text(text: str) -> str:
    """Make a text printable; an empty one stays empty."""
    return clean(text) if text else ""
