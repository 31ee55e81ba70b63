"""Numbers kept between requests: no answer depends on what was asked before it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import onnx
import pytest
from google.protobuf import json_format
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import RequestFile, RequestIds, ServiceMethod
from onnxplain_server.transport.admission.admission import (
    Caller,
    RequestLimits,
    create_context,
)
from onnxplain_server.transport.admission.request_control import RequestControl
from onnxplain_server.wire.blobs import identify

MODELS = Path(__file__).parents[2] / "models"
LIMITS = RequestLimits(2**24, 2**24, 600)


def doubled(name: str) -> bytes:
    """The same trees with doubled leaf values: another model with the same splits."""
    model = onnx.load(MODELS / f"{name}.onnx")
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "target_weights":
                attribute.floats[:] = [2 * value for value in attribute.floats]
    return bytes(model.SerializeToString())


def stored(name: str) -> bytes:
    return (MODELS / f"{name}.onnx").read_bytes()


CONTENTS: Mapping[str, tuple[str, bytes]] = {
    "sums": ("lightgbm_regressor", stored("lightgbm_regressor")),
    "doubled": ("lightgbm_regressor", doubled("lightgbm_regressor")),
    "linked": ("xgboost_binary", stored("xgboost_binary")),
    "several": ("sklearn_random_forest_3class", stored("sklearn_random_forest_3class")),
}
TABLES: Mapping[str, slice] = {"first": slice(24), "later": slice(8, 32)}
METHODS: Mapping[str, dict[str, Any]] = {
    "curves": {"partial_dependence": {"grid_size": 3}},
    "curves between quantiles": {"partial_dependence": {"grid_size": 3, "trim_upper": 0.8}},
    "pairs": {"interactions": {"pairwise_feature_count": 3}},
    "triples": {"interactions": {"pairwise_feature_count": 3, "threeway_feature_count": 3}},
    "shuffles": {"permutation_importance": {"repeat_count": 2}},
    "more shuffles": {"permutation_importance": {"repeat_count": 3}},
}


@dataclass(frozen=True)
class Asked:
    """One request; fields have the names of the contract's, or of the tables above."""

    model: str
    table: str
    method: str
    caller: str = "one"
    row_count: int | None = None
    seed: int = 0
    engine: ExplainRequest.Engine = ExplainRequest.ENGINE_UNSPECIFIED
    scale: str = "RESPONSE"
    weighted: bool = False
    prediction: str = ""
    last_output: bool = False

    @cached_property
    def csv(self) -> bytes:
        name, _ = CONTENTS[self.model]
        known = json.loads((MODELS / f"{name}.json").read_text())
        part = TABLES[self.table]
        columns = {column: values[part] for column, values in known["columns"].items()}
        classes = known["output_names"] if self.model == "several" else ["0", "1"]
        numbers = range(part.stop - (part.start or 0))
        columns |= {
            "target": [classes[number % len(classes)] for number in numbers],
            "weight": [1 + number % 2 for number in numbers],
        }
        rows = zip(*columns.values(), strict=True)
        lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
        return "\n".join(lines).encode()

    @property
    def message(self) -> bytes:
        request = ExplainRequest(seed=self.seed, scale=self.scale, target_column="target")
        request.model.id, request.table.id = identify(self.content), identify(self.csv)
        request.methods.add(**METHODS[self.method])
        # Without it, the weights would be a further feature.
        request.feature_columns.extend(self.csv.split(b"\n")[0].decode().split(",")[:-2])
        request.engine = self.engine
        if self.row_count:
            request.row_count = self.row_count
        if self.weighted:
            request.weight_column = "weight"
        if self.prediction:
            request.prediction.append(self.prediction)
        elif self.last_output:
            request.output_indices.append(2 if self.model == "several" else 0)
        return request.SerializeToString()

    @property
    def content(self) -> bytes:
        return CONTENTS[self.model][1]


class Answers:
    """Answers of one runner and one cache, which keep what they like."""

    def __init__(self, runner: InProcess) -> None:
        self._runner = runner
        self._cache = MemoryCache(2**24, Signer(b"a secret of the tests"))

    def __call__(self, asked: Asked) -> ExplainResponse:
        ids = RequestIds(identify(asked.content), identify(asked.csv), "csv")
        host = create_context(
            ids,
            Caller(asked.caller, 600, lambda: False),
            RequestControl(600),
            cache=self._cache,
            limits=LIMITS,
        )
        blobs = {
            ids.model: RequestFile("onnx", asked.content),
            ids.table: RequestFile("csv", asked.csv),
        }
        return ExplainResponse.FromString(
            self._runner.answer(Call(ServiceMethod.EXPLAIN, asked.message, blobs), host).content
        )


def json_of(answer: ExplainResponse) -> Any:
    """All of an answer but what tells how it came about."""
    read = json_format.MessageToDict(answer)
    for name in ("elapsed", "predictedRowCount", "cacheHitCount", "cacheMissCount"):
        read["receipt"].pop(name, None)
    return read


def rounded(value: Any) -> Any:
    """The same, equal to other numbers up to rounding, which depends on the outputs asked for."""
    match value:
        case dict():
            return {name: rounded(part) for name, part in value.items()}
        case list():
            return [rounded(part) for part in value]
        case float():
            return pytest.approx(value, rel=1e-6, abs=1e-9, nan_ok=True)
        case _:
            return value


@pytest.fixture(scope="module")
def used(runner: InProcess) -> Answers:
    """Keeps what it likes over all examples."""
    return Answers(runner)


def fresh(asked: Asked) -> ExplainResponse:
    """Answer by a runner and a cache that never saw another request."""
    runner = InProcess(2)
    try:
        return Answers(runner)(asked)
    finally:
        runner.close()


CHOICES: Mapping[str, Sequence[Any]] = {
    "model": list(CONTENTS),
    "table": list(TABLES),
    "method": list(METHODS),
    "caller": ["one", "two"],
    "row_count": [None, 12],
    "seed": [0, 1],
    "engine": [ExplainRequest.ENGINE_UNSPECIFIED, ExplainRequest.BLACK_BOX],
    "scale": ["RESPONSE", "MARGIN"],
    "weighted": [False, True],
    "prediction": ["", "2*y + 1", "exp(y/1000)"],
    "last_output": [False, True],
}
REQUESTS = st.builds(Asked, **{name: st.sampled_from(some) for name, some in CHOICES.items()})


def possible(asked: Asked) -> Asked:
    """The request without what its model does not have."""
    asked = replace(asked, scale=asked.scale if asked.model == "linked" else "RESPONSE")
    has_number = asked.model in {"sums", "doubled"}
    return replace(asked, prediction=asked.prediction if has_number else "")


@pytest.mark.parametrize("field", CHOICES)
@settings(max_examples=3, suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_no_answer_depends_on_what_was_asked_before(used: Answers, field: str, data) -> None:
    """Before it, a request is asked that differs in one field, and the same request."""
    asked = data.draw(REQUESTS)
    choices = [value for value in CHOICES[field] if value != getattr(asked, field)]
    other = possible(replace(asked, **{field: data.draw(st.sampled_from(choices))}))
    asked = possible(asked)

    used(other)
    expected = rounded(json_of(fresh(asked)))

    assert json_of(used(asked)) == expected
    assert json_of(used(asked)) == expected


@pytest.mark.parametrize("model", ["sums", "linked", "several"])
def test_a_repeated_request_computes_no_effect_and_is_answered_in_the_same_bits(
    used: Answers, model: str
) -> None:
    asked = Asked(model, "first", "triples", caller="of the test", seed=7)
    first, again = used(asked), used(asked)

    assert first.receipt.engine == again.receipt.engine == ExplainRequest.TREES
    assert first.receipt.cache_hit_count == again.receipt.cache_miss_count == 0
    assert again.receipt.cache_hit_count == first.receipt.cache_miss_count > 0
    assert first.explanations == again.explanations


def test_callers_share_no_cached_effect(used: Answers) -> None:
    for caller in ("of one", "of another"):
        answer = used(Asked("sums", "first", "curves", caller=caller, seed=8))

        assert answer.receipt.cache_hit_count == 0
        assert answer.receipt.cache_miss_count > 0


def test_curves_of_as_many_points_are_other_curves(used: Answers) -> None:
    for method in ("curves", "curves between quantiles"):
        asked = Asked("sums", "first", method, seed=9)

        assert json_of(used(asked)) == rounded(json_of(fresh(asked)))
