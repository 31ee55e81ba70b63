"""An explainer that is not ready yet, and interactions that are not computed yet."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.config.setting_names import SettingsError
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Blobs
from onnxplain_server.core.request import Reply, ReplyFormat

from tools.waiting import until

MODEL = Path(__file__).parents[1] / "models" / "sklearn_linear.onnx"
NAMES = [f"x{j}" for j in range(10)]
ROW = {"instances": [[0.5] * 10]}


class Held:
    """The runner itself, which a test holds up where a method is asked for."""

    def __init__(self, runner: InProcess, method: str) -> None:
        self._runner = runner
        self._method = method
        self.released = threading.Event()
        self.reached = threading.Event()
        self.failures: list[ExplainError] = []

    def explain(self, request: bytes, blobs: Blobs, host: Any, reply_format: ReplyFormat) -> Reply:
        """Explain once the test has released the method."""
        methods = ExplainRequest.FromString(request).methods
        if any(method.WhichOneof("method") == self._method for method in methods):
            self.reached.set()
            while not self.released.wait(0.01):
                host.advance(0, 1)
            if self.failures:
                raise self.failures.pop()
        return self._runner.explain(request, blobs, host, reply_format)

    def describe(self, request: bytes, blobs: Blobs, host: Any, reply_format: ReplyFormat) -> Reply:
        """Describe the model, as the explainer asks for the names of its features."""
        return self._runner.describe(request, blobs, host, reply_format)


@pytest.fixture
def background(tmp_path: Path) -> Path:
    path = tmp_path / "background.csv"
    rows = [",".join(str((i * j) % 7) for j in range(1, 11)) for i in range(20)]
    path.write_text("\n".join([",".join(NAMES), *rows]), encoding="utf-8")
    return path


@pytest.fixture
def begin(start: Callable[..., Any], background: Path) -> Iterator[Callable[..., tuple[Any, Held]]]:
    """Start an explainer that is held up where a method is asked for."""
    made: list[tuple[InProcess, Held]] = []

    def started(method: str, **settings: object) -> tuple[Any, Held]:
        runner = InProcess(1)
        held = Held(runner, method)
        made.append((runner, held))
        paths = {"explainer_model": str(MODEL), "explainer_background": str(background)}
        return start(held, explainer_name="m", **{**paths, **settings}), held

    yield started
    for runner, held in made:
        held.released.set()
        runner.close()


def explain(client: Any) -> Any:
    body = json.dumps(ROW)
    return client.rest("POST", "/v1/models/m:explain", body, {"Content-Type": "application/json"})


def wait_ready(client: Any) -> None:
    until(lambda: client.rest("GET", "/v1/models/m").status == 200)


def test_until_it_has_explained_a_row_it_is_not_ready_and_says_so(begin) -> None:
    client, held = begin("individual_conditional_expectation")
    assert held.reached.wait(600)

    answer = explain(client)
    assert answer.status == 503
    assert "not ready" in answer.json["error"]
    assert answer.headers["Content-Type"] == "application/json"
    for path in ("/v1/models/m", "/v2/models/m/ready", "/readyz", "/v2/health/ready", "/health"):
        assert client.rest("GET", path).status == 503
    assert client.rest("GET", "/v2/health/live").status == 200

    held.released.set()
    wait_ready(client)
    assert explain(client).status == 200


def test_interactions_that_are_not_computed_yet_are_told_and_come_later(begin) -> None:
    client, held = begin("interactions")
    wait_ready(client)

    early = explain(client).json
    (warning,) = [w for w in early["warnings"] if w["code"] == "INTERACTIONS_NOT_COMPUTED"]
    assert "not yet computed" in warning["message"]
    assert ["interactions" in e for e in early["explanations"]] == [False]

    held.released.set()
    until(lambda: "INTERACTIONS_NOT_COMPUTED" not in explain(client).body.decode())
    assert ["interactions" in e for e in explain(client).json["explanations"]] == [False, True]


def test_interactions_that_fail_leave_the_rows_explained(begin) -> None:
    client, held = begin("interactions")
    held.failures.append(ExplainError(Reason.TOO_MANY_ROWS, "too many rows"))
    held.released.set()
    wait_ready(client)

    until(lambda: "not yet computed" not in explain(client).body.decode())
    told = explain(client).json
    assert [e for e in told["explanations"] if "interactions" in e] == []
    assert any("too many rows" in warning["message"] for warning in told["warnings"])


def test_what_may_pass_is_tried_again(begin) -> None:
    client, held = begin("individual_conditional_expectation")
    held.failures.append(ExplainError(Reason.OVERLOADED, "later"))
    held.released.set()

    wait_ready(client)
    assert explain(client).status == 200


def test_interactions_can_be_turned_off(begin) -> None:
    client, _held = begin("interactions", explainer_interaction_rows=0)
    wait_ready(client)

    until(lambda: "turned them off" in explain(client).body.decode())


def test_a_background_that_does_not_fit_the_model_is_told(begin, tmp_path: Path) -> None:
    path = tmp_path / "narrow.csv"
    path.write_text("a,b\n1,2\n3,4\n", encoding="utf-8")
    client, held = begin("interactions", explainer_background=str(path))

    until(lambda: "background yet" not in explain(client).json["error"])
    assert "10" in explain(client).json["error"]
    assert not held.reached.is_set()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"explainer_model": "/nowhere.onnx"}, "explainer-model"),
        ({"explainer_background": "/nowhere.csv"}, "explainer-background"),
    ],
)
def test_files_that_are_not_there_stop_the_start(begin, settings, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        begin("interactions", **settings)


def test_rows_are_explained_for_callers_that_are_known(begin, tmp_path: Path) -> None:
    """Health is told to all, as platforms ask without credentials."""
    digest = hashlib.sha256(b"a-token").hexdigest()
    tokens = tmp_path / "tokens"
    tokens.write_text(f"ann {digest}\n", encoding="utf-8")
    client, _held = begin("swarm", tokens_file=str(tokens))
    wait_ready(client)

    refused = explain(client)
    assert (refused.status, "error" in refused.json) == (401, True)
    headers = {"Content-Type": "application/json", "Authorization": "Bearer a-token"}
    assert client.rest("POST", "/v1/models/m:explain", json.dumps(ROW), headers).status == 200
    assert client.rest("GET", "/v1/models").status == 401
