"""Sentences of real and of generated answers are true, and the checker finds each that is not."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from asked.case import Case
from asked.cases import cases
from asked.methods import METHODS
from asked.models import read_kind
from google.protobuf import json_format
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain_server.report import summary
from onnxplain_server.report.output_names import with_output_names
from onnxplain_server.report.swarm_findings import best_weight_text
from told.sentences import faults_of_sentences, is_true

_CASES = Path(__file__).parents[1] / "conformance" / "cases"
ANSWERS = {
    path.stem: json.dumps(response)
    for path in sorted(_CASES.glob("*.json"))
    if "explanations" in (response := json.loads(path.read_text())["expected"].get("response", {}))
}
FURTHER = os.environ.get("TEST_SENTENCES_ANSWERS", "")
"""Folder with answers of real tables, as `onnxplain explain --output json` writes them."""
COUNT = int(os.environ.get("TEST_SENTENCES", "5"))
"""Generated answers per method; 25 are 200 in all."""

_NUMBER = re.compile(r"(?<![\w.,×−-])\d[\d,]*\.?\d*(?![\w.,]*[\w%])")


def read(text: str) -> pb.ExplainResponse:
    answer = json_format.Parse(text, pb.ExplainResponse(), ignore_unknown_fields=True)
    return with_output_names(answer)


def changed(sentence: str) -> Iterator[str]:
    """Yield the sentence with each of its numbers a tenth larger, or a whole one larger by 1."""
    for found in _NUMBER.finditer(sentence):
        number = found[0].rstrip(".,")
        value, digits = float(number.replace(",", "")), len(number.partition(".")[2])
        other = 1.1 * value if digits or value >= 1_000 else value + 1
        text = f"{other:,.{digits + 1 if digits else 0}f}"
        yield sentence[: found.start()] + text + sentence[found.start() + len(number) :]


@pytest.mark.parametrize("name", ANSWERS)
def test_sentences_are_true_and_none_is_with_another_number_or_name(name: str) -> None:
    answer = read(ANSWERS[name])

    assert list(faults_of_sentences(answer)) == []
    told = [s for s in summary.of_answer(answer) if "summed up" not in s]
    plain = [s for s in told if "ean of " not in s]  # numbers of an expression are its name
    assert [one for s in plain for one in changed(s) if is_true(one, answer)] == []
    names = {n for s in told for n in answer.model.feature_names if s.startswith((n, f"Along {n}"))}
    assert [
        s for s in told for n in names if n in s and is_true(s.replace(n, "other"), answer)
    ] == []


def test_a_superlative_of_another_feature_is_found() -> None:
    """The answer is changed such that the weakest feature worsens predictions most."""
    answer = read(ANSWERS["permutation-importance"])
    told = [s for s in summary.of_answer(answer) if "worsens predictions most" in s]
    importances = answer.explanations[0].permutation_importance.importances

    assert told
    weakest = min(importances, key=lambda one: one.values[0])
    weakest.values[0] = 2 * max(one.values[0] for one in importances)
    assert not is_true(told[0], answer)


@pytest.mark.skipif(not FURTHER, reason="no folder of answers is named")
def test_sentences_of_further_answers_are_true() -> None:
    paths = sorted(Path(FURTHER).glob("*.json"))

    assert paths
    assert [(p.name, f) for p in paths for f in faults_of_sentences(read(p.read_text()))] == []


@pytest.mark.parametrize("method", METHODS)
@settings(
    max_examples=COUNT,
    derandomize="TEST_SENTENCES" not in os.environ,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
    phases=[Phase.explicit, Phase.generate],  # the fault's text tells more than a smaller case
)
@given(data=st.data())
def test_sentences_of_generated_answers_are_true(ask, method: str, data) -> None:
    answer = ask(data.draw(cases(method)))
    if isinstance(answer, pb.ExplainResponse):
        assert list(faults_of_sentences(answer, with_page=False)) == []


def test_predicting_again_with_the_printed_weight_gives_the_printed_score(ask) -> None:
    """Of a forest on its own rows, of which every fifth has the class of another row."""
    kind = read_kind("sklearn_random_forest_3class")
    session = onnxruntime.InferenceSession(kind.content)
    values = np.array([kind.columns[name] for name in kind.features], dtype=np.float32).T
    labels = predicted(session, values)
    labels[::5] = np.roll(labels, 1)[::5]
    names = np.array(kind.classes)
    columns = {**kind.columns, "y": names[labels].tolist()}
    options = {
        "featureColumns": list(kind.features),
        "targetColumn": "y",
        "methods": [{"swarm": {"score": "ACCURACY"}}],
    }
    answer = ask(Case(kind.content, kind.name, columns, "columns", options, kind.is_matrix))
    harmful = [e for e in answer.explanations[0].swarm.effects if e.importance > 0]

    assert len(harmful) > 5
    for effect in harmful:
        moved, feature = values.copy(), kind.features.index(effect.feature)
        rows = labels == list(kind.classes).index(effect.class_name)
        moved[rows, feature] *= np.float32(best_weight_text(effect))
        assert (predicted(session, moved) == labels).mean() == pytest.approx(effect.best_score)


def predicted(session: onnxruntime.InferenceSession, values: np.ndarray) -> np.ndarray:
    """Return the places of the predicted classes: (n_rows,)."""
    (name,) = (one.name for one in session.get_inputs())
    scores = session.run(None, {name: values})[-1]
    table = [list(row.values()) for row in scores] if isinstance(scores, list) else scores
    places: np.ndarray = np.argmax(table, axis=1)
    return places
