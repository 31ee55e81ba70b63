"""CronJob of the watch: a command that there is, files that are mounted, values that fit."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from onnxplain_server.cli.commands import command

Render = Callable[[Any], Any]

WATCH = {
    "enabled": True,
    "model": "/models/churn.onnx",
    "table": "/lake/newest.csv",
    "existingClaim": "history",
}
RULES = '[[rule]]\nstatistic = "importance"\nmax_change = 0.1\n'
PUSHED = {**WATCH, "pushGateway": "http://pushgateway:9091", "egress": [{"to": []}]}


def pod_of(chart: Any) -> Any:
    return chart.of_kind("CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"]


@pytest.mark.parametrize(
    "values",
    [
        {"watch": WATCH},
        {
            "watch": {**PUSHED, "rules": RULES, "tokenSecret": "a", "clientSecret": "b"},
            "tls": {"existingSecret": "tls", "clientCa": {"existingSecret": "ca"}},
            "tokens": {"existingSecret": "tokens"},
        },
    ],
)
def test_the_command_takes_its_arguments_and_finds_its_files(
    render: Render, conform: Callable[[str], str], values
) -> None:
    rendered = render(values)
    pod = pod_of(rendered)
    (container,) = pod["containers"]
    name, *words = container["args"]
    given = command(name).make_context(name, list(words)).params

    assert conform(rendered.text) == ""
    assert (given["model"], given["table"]) == ("/models/churn.onnx", "/lake/newest.csv")
    files = [each for key in given if key.endswith("_file") and (each := given[key])]
    files += filter(None, [given["rules"]])
    assert len(files) == (5 if "tls" in values else 0)
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    folders = {str(Path(file).parent) for file in files}
    assert mounts == folders | {str(given["folder"]), "/tmp"}  # noqa: S108 - its name
    assert {volume["name"] for volume in pod["volumes"]} == {
        mount["name"] for mount in container["volumeMounts"]
    }


def test_its_pods_reach_the_service_and_the_pushgateway(render: Render) -> None:
    rendered = render({"watch": PUSHED})
    own = rendered.of_kind("NetworkPolicy", "-watch")["spec"]
    labels = own["podSelector"]["matchLabels"]
    server = rendered.of_kind("NetworkPolicy", "release-onnxplain")["spec"]

    callers = [peer for rule in server["ingress"] for peer in rule.get("from", [])]
    assert {"podSelector": {"matchLabels": labels}} in callers
    assert own["egress"][-1] == {"to": []}


def test_errors_are_repeated_and_verdicts_are_not(render: Render) -> None:
    job = render({"watch": WATCH}).of_kind("CronJob")["spec"]["jobTemplate"]["spec"]
    (rule,) = job["podFailurePolicy"]["rules"]

    assert rule["action"] == "FailJob"
    assert rule["onExitCodes"]["values"] == [2, 3, 4]
    assert job["backoffLimit"] > 0


def test_the_page_shows_values_of_an_example(examples, root: Path) -> None:
    page = (root / "docs/watch.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)

    assert yaml.safe_load(block)["watch"].items() <= examples["watch"]["watch"].items()


def test_there_is_none_unless_it_is_asked_for(render: Render) -> None:
    assert "watch" not in render({}).text


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"watch": {**WATCH, "model": ""}}, "watch.enabled needs watch.model"),
        ({"watch": {**WATCH, "existingClaim": ""}}, "needs watch.existingClaim"),
        ({"watch": {**WATCH, "table": "s3://lake/new.parquet"}}, "give sources.prefixes"),
        ({"watch": {**PUSHED, "egress": []}}, "watch.pushGateway needs watch.egress"),
        (
            {"watch": WATCH, "tokens": {"existingSecret": "tokens"}},
            "needs watch.tokenSecret",
        ),
        (
            {
                "watch": WATCH,
                "tls": {"existingSecret": "tls", "clientCa": {"existingSecret": "ca"}},
            },
            "needs watch.clientSecret",
        ),
    ],
)
def test_values_that_do_not_fit_are_refused(refusal, values, told: str) -> None:
    assert told in refusal(values)
