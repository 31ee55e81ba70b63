"""Thresholds of Vertex AI's monitoring of attributions become rules."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from onnxplain_server.wire.comparisons.rules import gate_rules, read_rules

CONVERT = Path(__file__).parents[2] / "examples/vertex/convert.py"
ODD = 'a "b" é'
JOB: dict[str, Any] = {
    "displayName": "monitoring",
    "modelDeploymentMonitoringObjectiveConfigs": [
        {
            "deployedModelId": "1",
            "objectiveConfig": {
                "explanationConfig": {"enableFeatureAttributes": True},
                "predictionDriftDetectionConfig": {
                    "driftThresholds": {"age": {"value": 0.3}},
                    "attributionScoreDriftThresholds": {"age": {"value": 0.3}, ODD: {"value": 1}},
                },
            },
        },
        {
            "deployedModelId": "2",
            "objectiveConfig": {
                "trainingPredictionSkewDetectionConfig": {
                    "attributionScoreSkewThresholds": {"age": {"value": 0.2}}
                }
            },
        },
    ],
}
SPEC: dict[str, Any] = {
    "featureAttributionSpec": {
        "features": ["age", "bmi"],
        "defaultAlertCondition": {"threshold": 0.1},
        "featureAlertConditions": {"bmi": {"threshold": 0.4}},
    },
    "predictionOutputDriftSpec": {"defaultNumericAlertCondition": {"threshold": 0.3}},
}
Convert = Callable[[object], subprocess.CompletedProcess[str]]


@pytest.fixture
def convert(tmp_path: Path) -> Convert:
    def run(document: object) -> subprocess.CompletedProcess[str]:
        (tmp_path / "monitoring.json").write_text(json.dumps(document), encoding="utf-8")
        command = [sys.executable, str(CONVERT), "monitoring.json"]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False, encoding="utf-8"
        )

    return run


@pytest.mark.parametrize(
    ("document", "expected", "left_out"),
    [
        pytest.param(
            JOB,
            {"age": "abs(change) <= 0.2", ODD: "abs(change) <= 1.0"},
            "predictionDriftDetectionConfig.driftThresholds",
            id="job of two models",
        ),
        pytest.param(
            SPEC,
            {"age": "abs(change) <= 0.1", "bmi": "abs(change) <= 0.4"},
            "predictionOutputDriftSpec",
            id="objective of version 2",
        ),
        pytest.param(
            {
                "featureAttributionSpec": {"defaultAlertCondition": {"threshold": 0.1}},
                "featureDriftSpec": {"features": ["age"]},
            },
            {"": "abs(change) <= 0.1"},
            "featureDriftSpec",
            id="one threshold for all",
        ),
    ],
)
def test_each_feature_has_its_smallest_threshold(convert, document, expected, left_out) -> None:
    done = convert(document)

    rules = gate_rules(read_rules(done.stdout.encode()), "rule")
    assert {rule.kind for rule in rules} == {"MEAN_ABSOLUTE_ATTRIBUTION"}
    found = {"".join(rule.features): rule.condition for rule in rules}
    assert {feature: each and each.text for feature, each in found.items()} == expected
    assert done.stderr.endswith(f": {left_out}\n")


@pytest.mark.parametrize(
    ("document", "told"),
    [
        pytest.param({}, "no threshold of attributions", id="nothing"),
        pytest.param(
            {"featureAttributionSpec": {"features": ["age"]}}, "'age' has no", id="no default"
        ),
        pytest.param(
            {"featureAttributionSpec": {**SPEC["featureAttributionSpec"], "features": []}},
            "name all features",
            id="all but some",
        ),
        pytest.param(
            {"featureAttributionSpec": {"featureAlertConditions": {"age": {"threshold": -1}}}},
            "threshold of 'age' is -1",
            id="below 0",
        ),
    ],
)
def test_what_makes_no_rule_is_refused(convert, document, told) -> None:
    done = convert(document)

    assert done.returncode == 1
    assert told in done.stderr
