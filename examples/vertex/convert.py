"""Thresholds of Vertex AI's monitoring of attributions as rules of a comparison.

    python convert.py MONITORING.json > rules.toml

Reads the JSON of REST: a ModelMonitoringObjectiveConfig, or a deployment monitoring job that has
some, of version 1, or a TabularObjective of version 2.
"""

import json
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

DETECTIONS = {
    "trainingPredictionSkewDetectionConfig": "attributionScoreSkewThresholds",
    "predictionDriftDetectionConfig": "attributionScoreDriftThresholds",
}
DISTRIBUTIONS = (
    ("trainingPredictionSkewDetectionConfig", "skewThresholds"),
    ("predictionDriftDetectionConfig", "driftThresholds"),
)


def refuse(problem: str) -> None:
    raise SystemExit(f"convert.py: {problem}")


def objectives(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the objectives of a job, of each deployed model one, or the only one."""
    jobs = document.get("modelDeploymentMonitoringObjectiveConfigs")
    return [job["objectiveConfig"] for job in jobs] if jobs else [document]


def thresholds(objective: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield each feature and its threshold; "" stands for all features."""
    for detection, name in DETECTIONS.items():
        own = objective.get(detection, {})
        for feature, each in own.get(name, {}).items():
            yield feature, each.get("value", 0.0)
    spec = objective.get("featureAttributionSpec", {})
    own = spec.get("featureAlertConditions", {})
    default = spec.get("defaultAlertCondition")
    named = spec.get("features", [])
    if default and not named:
        if own:
            refuse("featureAttributionSpec: name all features, some have thresholds of their own")
        yield "", default.get("threshold", 0.0)
    for feature in dict.fromkeys([*named, *own]):
        condition = own.get(feature, default)
        if condition is None:
            refuse(f"featureAttributionSpec: {feature!r} has no threshold, and there is no default")
        yield feature, condition.get("threshold", 0.0)


def not_read(objective: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is about distributions of values, which an explanation does not have."""
    for detection, name in DISTRIBUTIONS:
        if objective.get(detection, {}).get(name):
            yield f"{detection}.{name}"
    for name in ("featureDriftSpec", "predictionOutputDriftSpec"):
        if objective.get(name):
            yield name


def rules(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a rule for each feature; of several thresholds the smallest."""
    found: dict[str, float] = {}
    for objective in objectives(document):
        for feature, threshold in thresholds(objective):
            if not 0 <= threshold < math.inf:
                refuse(f"the threshold of {feature or 'all'!r} is {threshold}")
            found[feature] = min(threshold, found.get(feature, math.inf))
        for name in not_read(objective):
            sys.stderr.write(f"not read, as it is about distributions of values: {name}\n")
    if not found:
        refuse("there is no threshold of attributions")
    for feature, threshold in found.items():
        # A JSON string of ASCII is a TOML string too.
        yield "[[rule]]"
        yield f"name = {json.dumps(f'attributions of {feature}' if feature else 'attributions')}"
        yield 'statistic = "mean_absolute_attribution"'
        if feature:
            yield f"features = [{json.dumps(feature)}]"
        yield f"max_change = {float(threshold)!r}\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    print("\n".join(rules(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))))
