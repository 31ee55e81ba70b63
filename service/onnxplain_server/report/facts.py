"""What surrounds the findings of an answer, as short texts."""

from __future__ import annotations

from typing import Any, NamedTuple

from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse, Receipt
from onnxplain.v1.model_pb2 import ModelDescription, ModelInput

from onnxplain_server.plots.words import clean, shorten

_DIGEST_LENGTH = len("sha256:") + 12


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
    return [Caution(clean(m.code), clean(m.message)) for m in messages]


def model(description: ModelDescription) -> list[Fact]:
    """Tell what a model takes and gives."""
    scales = ", ".join(ModelDescription.Scale.Name(scale) for scale in description.scales)
    facts = [
        Fact("digest", description.digest),
        Fact("inputs", ", ".join(_input(i) for i in description.inputs)),
        Fact("outputs", ", ".join(clean(name) for name in description.output_names)),
        Fact("scales", scales),
        Fact("no MARGIN because", clean(description.margin_refusal)),
        Fact("operators", ", ".join(clean(name) for name in description.operators)),
        Fact("written by", clean(description.producer)),
    ]
    absent = {"no MARGIN because": description.margin_refusal, "written by": description.producer}
    return [fact for fact in facts if absent.get(fact.name, "present")]


def _input(found: ModelInput) -> str:
    width = f" × {found.width}" if found.width > 1 else ""
    return f"{clean(found.name)} ({clean(found.type)}{width})"


def receipt(found: Receipt) -> list[Fact]:
    """Tell how numbers were made."""
    engine = ExplainRequest.Engine.Name(found.engine)
    looked = found.cache_hit_count + found.cache_miss_count
    return [
        Fact("rows used", f"{found.row_count:,}, drawn with seed {found.seed}"),
        Fact("rows predicted", f"{found.predicted_row_count:,.0f}"),
        Fact("found in cache", f"{found.cache_hit_count:,} of {looked:,} effects"),
        Fact("engine", f"{engine}: {clean(found.engine_reason)}"),
        Fact("time", f"{found.elapsed.ToTimedelta().total_seconds():.1f} s"),
        Fact("model", shorten(found.model_digest, _DIGEST_LENGTH)),
        Fact("table", shorten(found.table_digest, _DIGEST_LENGTH)),
        Fact("onnxplain", clean(found.server_version)),
        *(Fact(clean(name), clean(v)) for name, v in sorted(found.library_versions.items())),
    ]
