"""Facts about an answer as short texts: warnings, model, receipt, rows and options."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from google.protobuf import json_format
from onnxplain.v1.explanation_service_pb2 import (
    ExplainRequest,
    ExplainResponse,
    Explanation,
    Receipt,
)
from onnxplain.v1.explanation_service_pb2 import (
    Warning as WarningMessage,
)
from onnxplain.v1.model_pb2 import ModelDescription, ModelInput

from onnxplain_server.core.warnings import WARNINGS, Tells
from onnxplain_server.plots.elements.labels import clean, cut_end, enumerate_words
from onnxplain_server.plots.elements.number_formats import spell_whole
from onnxplain_server.report.page_rules import around_list
from onnxplain_server.report.registry import of_method

_DIGEST_LENGTH = len("sha256:") + 12
_OPTIONS_LENGTH = 400


class Caution(NamedTuple):
    """A warning: its stable code, and a message."""

    code: str
    message: str

    @property
    def parts(self) -> tuple[str, str, str]:
        """Return what stands before a long list, such as of columns, the list, and what follows."""
        return around_list(self.message)


class Fact(NamedTuple):
    """A name and its value."""

    name: str
    value: str


def warnings(answer: ExplainResponse) -> list[Caution]:
    """Return the warnings of an answer."""
    messages: list[Any] = list(answer.warnings)
    return [Caution(_text(m.code), _text(m.message)) for m in messages]


def warnings_that_tell(answer: ExplainResponse, what: Tells) -> list[Caution]:
    """Return the warnings of an answer of one kind; those of an unknown one tell a doubt."""
    messages: list[Any] = list(answer.warnings)
    kinds = [_tells(message) for message in messages]
    pairs = zip(warnings(answer), kinds, strict=True)
    return [caution for caution, kind in pairs if kind is what]


def _tells(message: Any) -> Tells:
    """Return what a message is about, as it says, or else by its code."""
    kind: str = WarningMessage.Kind.Name(message.kind)
    if kind in Tells.__members__:
        return Tells[kind]
    return WARNINGS[message.code].tells if message.code in WARNINGS else Tells.DOUBT


def model(description: ModelDescription) -> list[Fact]:
    """Describe the inputs, outputs and operators of a model."""
    scales = [ModelDescription.Scale.Name(scale) for scale in description.scales]
    trees = f"{description.tree_count:,}, of up to {description.tree_depth:,} splits"
    producer = f"{_text(description.producer)} {_text(description.producer_version)}".strip()
    facts = [
        Fact("summary", _text(description.summary)),
        Fact("digest", _text(description.digest)),
        Fact("inputs", "; ".join(_input(i) for i in description.inputs)),
        Fact("features", _features(description)),
        Fact("outputs", "; ".join(_text(name) for name in description.output_names)),
        Fact("explained by default", _default_outputs(description)),
        Fact("targets", "name classes" if description.has_class_scores else ""),
        Fact("scales", ", ".join(scales)),
        Fact("no MARGIN because", _text(description.margin_refusal)),
        Fact("operators", ", ".join(_text(name) for name in description.operators)),
        Fact("trees", trees if description.tree_count else ""),
        Fact("written by" if description.digest else "run by", producer),
    ]
    return [fact for fact in facts if fact.value]


def _default_outputs(description: ModelDescription) -> str:
    """List the outputs of a default request; empty where it explains all."""
    chosen = description.default_output_indices
    is_all = len(chosen) == len(description.output_names)
    return "" if is_all else "; ".join(_text(description.output_names[k]) for k in chosen)


def receipt(message: Receipt) -> list[Fact]:
    """Describe the computation: engine, cost, time, digests and versions."""
    engine = ExplainRequest.Engine.Name(message.engine) if message.engine else ""
    lookup_count = message.cache_hit_count + message.cache_miss_count
    facts = [
        Fact("prediction", "; ".join(_text(text) for text in message.prediction)),
        Fact("clusters", f"{_text(message.cluster_column)!r}" if message.cluster_column else ""),
        Fact("rows predicted", f"{message.predicted_row_count:,.0f}"),
        Fact("found in cache", f"{message.cache_hit_count:,} of {lookup_count:,} effects"),
        Fact("engine", f"{engine}: {_text(message.engine_reason)}" if engine else ""),
        Fact("may round by call size", _operators(message.size_dependent_operators)),
        Fact("time", f"{message.elapsed.ToTimedelta().total_seconds():.1f} s"),
        Fact("model", _asked_model(message)),
        Fact("table", short_digest(message.table_digest)),
        Fact("processor", _text(message.processor)),
        Fact("onnxplain", _text(message.server_version)),
        *(Fact(_text(name), _text(v)) for name, v in sorted(message.library_versions.items())),
    ]
    return [fact for fact in facts if fact.value]


def _asked_model(message: Receipt) -> str:
    """Name a model by its digest, or a remote one by its address."""
    if not message.HasField("remote_model"):
        return short_digest(message.model_digest) or "none"
    remote = message.remote_model
    words = [remote.name, remote.version and f"version {remote.version}", f"at {remote.uri}"]
    digest = cut_end(remote.probe_digest, _DIGEST_LENGTH)
    return _text(f"{' '.join(filter(None, words))}, whose answers to probe rows are {digest}")


def short_digest(digest: str) -> str:
    """Return the beginning of a digest; empty without one."""
    return cut_end(_text(digest), _DIGEST_LENGTH)


def _operators(names: Sequence[str]) -> str:
    return "; ".join(map(_text, names))


def title(explanation: Explanation) -> str:
    """Return the title of the method, with its loss and the columns that group its rows."""
    name = explanation.WhichOneof("result") or ""
    start = of_method(name).title_of(explanation)
    columns = group_columns(explanation)
    return f"{start}, by {enumerate_words(columns)}" if columns else start


def rows(explanation: Explanation) -> str:
    """Describe the rows that a method is computed on; empty if it needs none."""
    if not explanation.HasField("rows"):
        return ""
    message = explanation.rows
    parts = [f"{message.drawn_row_count:,} rows"]
    if message.used_row_count < message.drawn_row_count:
        parts.append(f"{message.used_row_count:,} of them used")
    if message.weight != message.used_row_count:
        parts.append(f"total weight {spell_whole(message.weight)}")
    if message.cluster_count:
        parts.append(f"{message.cluster_count:,} clusters")
    return f"{', '.join(parts)} (seed {message.seed})"


def options(explanation: Explanation) -> str:
    """Write the options of a method, defaults filled in, as JSON in one line; long ones cut."""
    document = json_format.MessageToDict(explanation.options)
    return cut_end(_text(json.dumps(document, ensure_ascii=False)), _OPTIONS_LENGTH)


def group_columns(explanation: Explanation) -> list[str]:
    """Return the columns that group the rows of a method."""
    options = getattr(explanation.options, explanation.options.WhichOneof("method") or "", None)
    columns = (getattr(options, "group_column", ""), *getattr(options, "group_columns", ()))
    return [_text(column) for column in columns if column]


def _features(description: ModelDescription) -> str:
    """Name the columns of a model with one input; empty for several inputs, which name them."""
    if len(description.inputs) > 1:
        return ""
    names = [_text(name) for name in description.feature_names]
    more = f"; and {len(names) - 12} more" if len(names) > 12 else ""
    return "; ".join(names[:12]) + more


def _input(message: ModelInput) -> str:
    width = f" × {message.width}" if message.width > 1 else ""
    return f"{_text(message.name)} ({_text(message.type)}{width})"


def _text(text: str) -> str:
    """Make a text printable; an empty one stays empty."""
    return clean(text) if text else ""
