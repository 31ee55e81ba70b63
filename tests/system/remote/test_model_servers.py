"""Real servers of models: in each protocol, predictions are those of the model itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.remote.models import UNTOLD

from tools.remote.servers import ModelServer

pytestmark = pytest.mark.slow

OIP = [("OIP_REST", "url"), ("OIP_GRPC", "grpc_url")]


def refusal(call: Any) -> ExplainError:
    with pytest.raises(ExplainError) as raised:
        call()
    return raised.value


@pytest.mark.parametrize("name", ["forest", "boosted", "people"])
@pytest.mark.parametrize(("protocol", "url"), [("KSERVE_V1", "url"), *OIP])
def test_kserve_predicts_as_its_model(
    kserve: ModelServer, open_model: Any, read_case: Any, protocol: str, url: str, name: str
) -> None:
    case = read_case(kserve, name)
    model = open_model(protocol, getattr(kserve, url), name, inputs=case.inputs)

    np.testing.assert_allclose(model.predict(case.feeds), case.predictions, rtol=0, atol=1e-6)
    width = case.predictions.shape[1]
    assert model.describe().output_names == tuple(map(str, range(width)))


def test_labels_of_kserve_are_refused(kserve: ModelServer, open_model: Any, read_case: Any) -> None:
    case = read_case(kserve, "animals")

    error = refusal(
        lambda: open_model("KSERVE_V1", kserve.url, "animals", inputs=case.inputs).predict(
            case.feeds
        )
    )

    assert error.reason is Reason.REMOTE_MODEL_ANSWER
    assert "probabilities" in error.message


@pytest.mark.parametrize(("protocol", "url"), OIP)
def test_kserve_tells_no_inputs_and_takes_one_matrix(
    kserve: ModelServer, open_model: Any, read_case: Any, protocol: str, url: str
) -> None:
    case = read_case(kserve, "forest")
    model = open_model(protocol, getattr(kserve, url), "forest")

    assert model.describe().inputs == (UNTOLD,)
    ((_, matrix),) = case.feeds.items()
    found = model.predict({UNTOLD.name: matrix.astype(np.float64)})
    np.testing.assert_allclose(found, case.predictions, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("forest", "predict_proba"),
        ("boosted", ""),
        ("people", ""),
        ("animals", "predict_proba"),
        ("xgboost_regressor", ""),
        ("xgboost_classifier", "predict_proba"),
    ],
)
@pytest.mark.parametrize("version", ["", "v1"])
@pytest.mark.parametrize(("protocol", "url"), OIP)
def test_mlserver_predicts_as_its_model(
    mlserver: ModelServer,
    open_model: Any,
    read_case: Any,
    protocol: str,
    url: str,
    name: str,
    output: str,
    version: str,
) -> None:
    case = read_case(mlserver, name)
    address = getattr(mlserver, url)
    model = open_model(protocol, address, name, output=output, version=version)

    assert model.describe().inputs == case.inputs
    predictions = model.predict(case.feeds)
    np.testing.assert_allclose(predictions, case.predictions, rtol=0, atol=1e-6)
    assert predictions.dtype == (np.float32 if name.startswith("xgboost") else np.float64)


@pytest.mark.parametrize(("protocol", "url"), OIP)
def test_labels_of_mlserver_are_refused(
    mlserver: ModelServer, open_model: Any, read_case: Any, protocol: str, url: str
) -> None:
    case = read_case(mlserver, "animals")

    error = refusal(
        lambda: open_model(protocol, getattr(mlserver, url), "animals").predict(case.feeds)
    )

    assert error.reason is Reason.REMOTE_MODEL_ANSWER
    assert '"predict_proba"' in error.message


@pytest.mark.parametrize(("protocol", "url"), OIP)
def test_rows_that_mlserver_refuses_are_told_in_its_words(
    mlserver: ModelServer, open_model: Any, protocol: str, url: str
) -> None:
    model = open_model(protocol, getattr(mlserver, url), "forest", output="predict_proba")

    error = refusal(lambda: model.predict({"rows": np.zeros((2, 4))}))

    assert error.reason is Reason.PREDICTION_FAILED
    assert "expecting 5 features" in error.message


@pytest.mark.parametrize(("protocol", "url"), [("KSERVE_V1", "url"), *OIP])
def test_a_model_that_kserve_does_not_have_is_told(
    kserve: ModelServer, open_model: Any, read_case: Any, protocol: str, url: str
) -> None:
    case = read_case(kserve, "forest")
    model = open_model(protocol, getattr(kserve, url), "absent", inputs=case.inputs)

    assert refusal(lambda: model.predict(case.feeds)).reason is Reason.REMOTE_MODEL_NOT_FOUND


@pytest.mark.parametrize("name", ["forest", "people"])
def test_mlflow_predicts_as_its_model(
    mlflow: ModelServer, open_model: Any, read_case: Any, name: str
) -> None:
    case = read_case(mlflow, name)
    model = open_model("MLFLOW", mlflow.urls[name], "", inputs=case.inputs)

    np.testing.assert_allclose(model.predict(case.feeds), case.predictions, rtol=0, atol=1e-6)
    assert model.describe().platform.startswith("MLflow 3")


def test_labels_of_mlflow_are_refused(mlflow: ModelServer, open_model: Any, read_case: Any) -> None:
    case = read_case(mlflow, "animals")
    model = open_model("MLFLOW", mlflow.urls["animals"], "", inputs=case.inputs)

    error = refusal(lambda: model.predict(case.feeds))

    assert error.reason is Reason.REMOTE_MODEL_ANSWER
    assert "predict_proba" in error.message
