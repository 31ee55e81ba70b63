"""A Dask cluster in the chart: files of TLS, the label of clients, egress to the scheduler."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

Render = Callable[[Any], Any]
Destinations = Callable[[Any, str], set[int]]

LABEL = "onnxplain-dask-client"
FOLDER = "/etc/onnxplain/dask"
LISTED = {"prefixes": [{"prefix": "s3://lake/", "endpoint": "http://10.9.9.9:9000"}]}
PODS = [{"podSelector": {"matchLabels": {"app": "scheduler"}}}]


def asked(scheduler: str, **dask: Any) -> dict[str, Any]:
    return {"settings": {"dask_scheduler": scheduler}, "sources": LISTED, "dask": dask}


def labels(chart: Any) -> dict[str, str]:
    found: dict[str, str] = chart.of_kind("Deployment")["spec"]["template"]["metadata"]["labels"]
    return found


def egress(chart: Any) -> list[Any]:
    """Return the rules behind those of DNS and of the list of sources."""
    found: list[Any] = chart.of_kind("NetworkPolicy", "release-onnxplain")["spec"]["egress"][2:]
    return found


def test_the_server_has_address_and_files_of_tls(render: Render, examples: Any) -> None:
    chart = render(examples["dask"])
    given = {name: text for name, text in chart.environment.items() if "_DASK_" in name}

    assert given == {
        "ONNXPLAIN_DASK_SCHEDULER": "tls://onnxplain-dask:8786",
        "ONNXPLAIN_DASK_CA_FILE": f"{FOLDER}/ca.crt",
        "ONNXPLAIN_DASK_CERTIFICATE_FILE": f"{FOLDER}/tls.crt",
        "ONNXPLAIN_DASK_KEY_FILE": f"{FOLDER}/tls.key",
    }
    (volume,) = [one for one in chart.server["volumes"] if one["name"] == "dask"]
    assert volume["secret"] == {"secretName": "onnxplain-dask-client", "defaultMode": 0o440}
    mount = {"name": "dask", "mountPath": FOLDER, "readOnly": True}
    assert mount in chart.container["volumeMounts"]


def test_keys_of_the_secret_may_have_other_names(render: Render) -> None:
    keys = {"caKey": "ca.pem", "certificateKey": "me.pem", "keyKey": "me-key.pem"}
    chart = render(asked("tls://10.1.2.3:8786", existingSecret="client", **keys))

    names = ("CA_FILE", "CERTIFICATE_FILE", "KEY_FILE")
    files = [chart.environment[f"ONNXPLAIN_DASK_{name}"] for name in names]
    assert files == [f"{FOLDER}/ca.pem", f"{FOLDER}/me.pem", f"{FOLDER}/me-key.pem"]


def test_the_image_is_the_one_with_dask(render: Render, examples: Any) -> None:
    assert render(examples["dask"]).container["image"].endswith("-sources")


def test_a_cluster_that_only_predicts_needs_no_sources(render: Render) -> None:
    settings = {"dask_scheduler": "tcp://10.1.2.3:8786", "dask_prediction_seconds": 60}
    chart = render({"settings": settings})

    assert chart.container["image"].endswith("-sources")
    assert chart.environment["ONNXPLAIN_DASK_PREDICTION_SECONDS"] == "60"


def test_its_pods_are_clients_for_the_manifests_of_the_cluster(
    render: Render, examples: Any, root: Path
) -> None:
    text = (root / "deploy/dask/networkpolicy.yaml").read_text(encoding="utf-8")
    admitted = next(yaml.safe_load_all(text))["spec"]["ingress"][0]["from"]
    chart = render({**examples["dask"], "podLabels": {"team": "risk"}})

    assert {"podSelector": {"matchLabels": {LABEL: "true"}}} in admitted
    assert labels(chart)[LABEL] == "true"
    assert labels(chart)["team"] == "risk"


def test_the_example_reaches_the_scheduler_of_the_manifests(
    render: Render, examples: Any, root: Path
) -> None:
    assert_reaches(render(examples["dask"]), root)


def test_the_values_of_the_page_reach_the_scheduler_of_the_manifests(
    render: Render, examples: Any, root: Path
) -> None:
    """Beside a list of sources, which another page shows."""
    page = (root / "docs/scaling.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(settings:.*?)```", page, re.DOTALL)

    assert_reaches(render({"sources": examples["dask"]["sources"], **yaml.safe_load(block)}), root)


def assert_reaches(chart: Any, root: Path) -> None:
    """The pods of a chart reach the scheduler of the manifests, and nothing else of the cluster."""
    text = (root / "deploy/dask/scheduler.yaml").read_text(encoding="utf-8")
    template = yaml.safe_load(text)["spec"]["template"]
    (rule,) = [one for one in egress(chart) if "podSelector" in one["to"][0]]

    assert rule["to"] == [{"podSelector": {"matchLabels": template["metadata"]["labels"]}}]
    (port,) = template["spec"]["containers"][0]["ports"]
    assert rule["ports"] == [{"port": port["containerPort"], "protocol": "TCP"}]


@pytest.mark.parametrize(
    ("scheduler", "address", "port"),
    [
        ("tcp://10.1.2.3:8786", "10.1.2.3/32", 8786),
        ("tcp://[fd00::12]:9000", "fd00::12/128", 9000),
    ],
)
def test_pods_reach_the_scheduler_and_nothing_else(
    render: Render, scheduler: str, address: str, port: int
) -> None:
    assert egress(render(asked(scheduler))) == [
        {"ports": [{"port": port, "protocol": "TCP"}], "to": [{"ipBlock": {"cidr": address}}]}
    ]


def test_a_service_is_reached_by_its_pods(render: Render) -> None:
    chart = render(asked("tcp://dask.lake.svc:80", to=PODS, port=8786))

    assert egress(chart) == [{"ports": [{"port": 8786, "protocol": "TCP"}], "to": PODS}]
    assert chart.environment["ONNXPLAIN_DASK_SCHEDULER"] == "tcp://dask.lake.svc:80"


def test_without_a_scheduler_there_is_no_trace_of_it(render: Render) -> None:
    chart = render({"sources": LISTED})

    assert "dask" not in chart.text.lower()
    assert egress(chart) == []


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (asked("dask:8786", to=PODS), "dask_scheduler"),
        (asked("http://dask:8786", to=PODS), "dask_scheduler"),
        (asked("tcp://dask", to=PODS), "dask_scheduler"),
        (asked("tcp://dask:8786", to=PODS, port=70_000), "port"),
        (asked("tcp://dask:8786", to=PODS, certificate="c"), "certificate"),
        (asked("tcp://dask:8786"), "give dask.to"),
        (asked("tls://dask:8786", to=PODS), "with tls:// needs dask.existingSecret"),
        (asked("tcp://dask:8786", to=PODS, existingSecret="s"), "which tcp:// does not have"),
        (asked("tcp://10.1.2.3:8786") | {"sources": {}}, "needs sources.prefixes"),
        (
            asked("tcp://10.1.2.3:8786")
            | {"settings": {"dask_scheduler": "tcp://10.1.2.3:8786", "isolation": "none"}},
            "another settings.isolation",
        ),
        ({"dask": {"existingSecret": "s"}}, "belong to settings.dask_scheduler"),
        ({"dask": {"to": PODS}}, "belong to settings.dask_scheduler"),
        ({"dask": {"port": 8786}}, "belong to settings.dask_scheduler"),
        ({"settings": {"dask_ca_file": "/ca.pem"}}, "dask_ca_file"),
    ],
)
def test_values_that_do_not_fit_are_refused(
    refusal: Callable[[Any], str], values: Any, said: str
) -> None:
    assert said in refusal(values)


def test_without_a_network_policy_a_name_is_enough(render: Render) -> None:
    chart = render({**asked("tcp://dask:8786"), "networkPolicy": {"enabled": False}})

    assert chart.environment["ONNXPLAIN_DASK_SCHEDULER"] == "tcp://dask:8786"
