"""The strategy STEPS from request to answer: whole step functions, drawn as such, or a refusal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1.partial_dependence_pb2 import PartialDependenceOptions
from onnxplain.v1.table_pb2 import Column
from onnxplain_server.adapters.onnx import load
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.methods import grids
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.request_control import RequestControl

MODELS = Path(__file__).parents[1] / "models"
STEPS = PartialDependenceOptions.STEPS


@pytest.fixture(scope="module")
def runner() -> Iterator[InProcess]:
    runner = InProcess(threads=2)
    yield runner
    runner.close()


def known(name: str):
    return json.loads((MODELS / f"{name}.json").read_text())["columns"]


def request(name: str, **fields):
    asked = service_pb2.ExplainRequest(**fields)
    asked.model.content = (MODELS / f"{name}.onnx").read_bytes()
    for column, values in known(name).items():
        asked.table.columns.columns.append(Column(name=column, numbers=values))
    return asked


def curves(asked, *features):
    options = asked.methods.add().partial_dependence
    options.strategy = STEPS
    for names in features:
        options.features.add(names=names)
    return options


def run(runner: InProcess, asked):
    call = RequestContext(
        RequestControl(600), MemoryCache(2**20, Signer(b"a secret of the tests")), ""
    )
    reply = runner.answer(Call(ServiceMethod.EXPLAIN, asked.SerializeToString()), call).content
    return service_pb2.ExplainResponse.FromString(reply)


@pytest.mark.parametrize("name", ["lightgbm_regressor", "xgboost_3class"])
def test_the_runtime_predicts_the_same_from_each_point_until_the_next(
    runner: InProcess, name: str
) -> None:
    columns = known(name)
    feature = list(columns)[2]
    asked = request(name)
    curves(asked, [feature])

    (curve,) = run(runner, asked).explanations[0].partial_dependence.curves

    points = np.array(curve.grid[0].numbers)
    values = np.array(curve.values).reshape(len(points), -1)
    assert len(points) > 4
    model = load((MODELS / f"{name}.onnx").read_bytes())
    rows = np.stack([np.array(column, np.float32) for column in columns.values()], axis=1)
    rng = np.random.default_rng(0)
    for low, high, expected in zip(points[:-1], points[1:], values[:-1], strict=True):
        last = np.nextafter(np.float32(high), np.float32(-np.inf))
        for point in (low, last, np.clip(np.float32(rng.uniform(low, high)), low, last)):
            moved = rows.copy()
            moved[:, 2] = point
            predicted = model.predict({model.inputs[0].name: moved}).mean(axis=0)
            np.testing.assert_allclose(predicted, expected, rtol=1e-5, atol=1e-6)


def test_a_surface_has_every_cell(runner: InProcess) -> None:
    first, second = list(known("lightgbm_regressor"))[2:4]
    asked = request("lightgbm_regressor")
    curves(asked, [first], [second], [first, second])

    found = run(runner, asked).explanations[0]

    one, other, both = found.partial_dependence.curves
    sizes = [len(one.grid[0].numbers), len(other.grid[0].numbers)]
    assert len(both.grid[0].numbers) == sizes[0] * sizes[1]
    assert list(both.grid[0].numbers) == list(one.grid[0].numbers) * sizes[1]
    specs = [json.loads(plot.vega_lite) for plot in found.plots]
    assert ["step-after" in json.dumps(spec) for spec in specs] == [True, True, True, False]
    assert found.options.partial_dependence.strategy == STEPS


def test_too_many_cells_are_refused_with_their_number(
    runner: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grids, "MAX_STEPS", 20)
    first, second = list(known("lightgbm_regressor"))[2:4]
    asked = request("lightgbm_regressor")
    curves(asked, [first, second])

    with pytest.raises(
        ExplainError, match=r"has \d+ × \d+ = [\d,]+ steps in .*; the limit is 20:"
    ) as e:
        run(runner, asked)

    assert e.value.reason is Reason.INVALID_OPTION
    assert e.value.field == "methods[0].partial_dependence.strategy"


@pytest.mark.parametrize(
    ("name", "engine"), [("network_float", None), ("lightgbm_regressor", "BLACK_BOX")]
)
def test_models_that_are_predicted_have_no_known_steps(
    runner: InProcess, name: str, engine
) -> None:
    asked = request(name, engine=engine)
    curves(asked)

    with pytest.raises(ExplainError, match="needs the trees engine") as refusal:
        run(runner, asked)

    assert refusal.value.field == "methods[0].partial_dependence.strategy"


def test_a_given_grid_needs_no_steps(runner: InProcess) -> None:
    feature = next(iter(known("network_float")))
    asked = request("network_float")
    options = curves(asked, [feature])
    options.grids.add().columns.append(Column(name=feature, numbers=[0.0, 1.0]))

    answer = run(runner, asked).explanations[0]

    assert list(answer.partial_dependence.curves[0].grid[0].numbers) == [0, 1]
    assert "step-after" not in answer.plots[0].vega_lite


def test_single_rows_have_steps_too(runner: InProcess) -> None:
    feature = next(iter(known("lightgbm_regressor")))
    asked = request("lightgbm_regressor")
    curves(asked, [feature])
    options = asked.methods.add().individual_conditional_expectation
    options.strategy, options.features[:] = STEPS, [feature]

    averaged, single = run(runner, asked).explanations

    (average,), (curve,) = (
        averaged.partial_dependence.curves,
        (single.individual_conditional_expectation.curves),
    )
    assert list(curve.grid[0].numbers) == list(average.grid[0].numbers)
    values = np.array(curve.values).reshape(len(curve.row_indices), -1)
    np.testing.assert_allclose(values.mean(axis=0), average.values, rtol=1e-9)
    assert single.plots[0].vega_lite.count("step-after") == 3


def test_an_overview_of_trees_has_each_step_and_the_surface_of_the_strongest_pair(
    runner: InProcess,
) -> None:
    answer = run(runner, request("lightgbm_regressor"))

    by_method = {e.WhichOneof("result"): e for e in answer.explanations}
    pairs = by_method["interactions"].interactions.pairwise
    strongest = max(pairs, key=lambda pair: pair.numerators[0])
    drawn = by_method["partial_dependence"]
    assert drawn.options.partial_dependence.strategy == STEPS
    surface = drawn.partial_dependence.curves[-1]
    assert list(surface.features) == list(strongest.features)
    assert len(surface.values) > 100
    assert 0 < sum(surface.row_weights) <= surface.weight == drawn.rows.used_row_count


def test_a_network_gets_no_surface_that_would_cost_predictions(runner: InProcess) -> None:
    answer = run(runner, request("network_float"))

    methods = [e.WhichOneof("result") for e in answer.explanations]
    assert methods == ["interactions", "partial_dependence"]
