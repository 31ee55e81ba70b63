"""The watch's CronJob: Jobs over a growing table, kept answers on a volume, metrics pushed."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import numpy as np
import pytest
from kubernetes import client
from onnx import TensorProto, helper

from tools.waiting import until

RULES = """
[[rule]]
name = "importance of b"
statistic = "importance"
features = ["b"]
holds = "value <= 0.7"
"""
FOLDER = "/etc/onnxplain/data"


def model() -> bytes:
    """The model a + b."""
    graph = helper.make_graph(
        [helper.make_node("Add", ["a", "b"], ["y"])],
        "sum",
        [helper.make_tensor_value_info(n, TensorProto.DOUBLE, ["n", 1]) for n in "ab"],
        [helper.make_tensor_value_info("y", TensorProto.DOUBLE, ["n", 1])],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(made.SerializeToString())


class Gateway(HTTPServer):
    """Metrics of each push, as text."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), GatewayHandler)
        self.pushed: list[str] = []


class GatewayHandler(BaseHTTPRequestHandler):
    server: Gateway

    def do_PUT(self) -> None:
        self.server.pushed.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_arguments: object) -> None: ...


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with Gateway() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def claim(cluster, namespace: str) -> Iterator[str]:
    """A claim with a volume of its own."""
    size = {"storage": "1Gi"}
    volume = client.V1PersistentVolume(
        metadata=client.V1ObjectMeta(name=namespace),
        spec=client.V1PersistentVolumeSpec(
            capacity=size,
            access_modes=["ReadWriteOnce"],
            host_path=client.V1HostPathVolumeSource(path="/kept"),
            claim_ref=client.V1ObjectReference(namespace=namespace, name="history"),
        ),
    )
    cluster.core.create_persistent_volume(volume)
    asked = client.V1PersistentVolumeClaim(
        metadata=client.V1ObjectMeta(name="history"),
        spec=client.V1PersistentVolumeClaimSpec(
            access_modes=["ReadWriteOnce"],
            storage_class_name="",
            resources=client.V1VolumeResourceRequirements(requests=size),
        ),
    )
    cluster.core.create_namespaced_persistent_volume_claim(namespace, asked)
    yield "history"
    cluster.core.delete_persistent_volume(namespace)


def values_of(small: Mapping[str, Any], claim: str, gateway: Gateway) -> Mapping[str, Any]:
    url = f"http://127.0.0.1:{gateway.server_port}"
    return {
        **small,
        "watch": {
            "enabled": True,
            "schedule": "0 0 1 1 *",
            "model": f"{FOLDER}/sum.onnx",
            "table": f"{FOLDER}/rows.csv",
            "existingClaim": claim,
            "rules": RULES,
            "pushGateway": url,
            "egress": [{"to": []}],
            "extraVolumes": [{"name": "data", "configMap": {"name": "data"}}],
            "extraVolumeMounts": [{"name": "data", "mountPath": FOLDER}],
        },
    }


def test_a_drift_fails_a_job_once_and_its_metrics_arrive(
    release, cluster, namespace: str, small, claim: str, gateway: Gateway
) -> None:
    lines, random = ["a,b"], np.random.default_rng(0)
    data = client.V1ConfigMap(
        metadata=client.V1ObjectMeta(name="data"),
        binary_data={"sum.onnx": base64.b64encode(model()).decode()},
        data={"rows.csv": "a,b"},
    )
    cluster.core.create_namespaced_config_map(namespace, data)
    release.upgrade(*release.values(values_of(small, claim, gateway)))
    ended = []
    for number, spread in enumerate((1, 1, 6)):
        lines += [f"{a:.6f},{spread * b:.6f}" for a, b in random.normal(size=(200, 2))]
        rows = {"data": {"rows.csv": "\n".join(lines)}}
        cluster.core.patch_namespaced_config_map("data", namespace, rows)
        ended.append(run(cluster, namespace, f"run-{number}"))

    assert ended == ["Complete", "Complete", "PodFailurePolicy"], release.log()
    verdicts = [
        line.rpartition(" ")[2]
        for pushed in gateway.pushed
        for line in pushed.splitlines()
        if line.startswith("onnxplain_watch_rule_verdict{")
    ]
    assert (len(gateway.pushed), verdicts) == (3, ["1.0", "0.0"])


def run(cluster, namespace: str, name: str) -> str:
    """Run a Job of the CronJob, as `kubectl create job --from` does; return how it ended."""
    batch: Any = client.BatchV1Api(cluster.plane.api)
    template = batch.read_namespaced_cron_job("release-onnxplain-watch", namespace).spec
    job = client.V1Job(metadata=client.V1ObjectMeta(name=name), spec=template.job_template.spec)
    batch.create_namespaced_job(namespace, job)

    def end() -> str:
        conditions = batch.read_namespaced_job(name, namespace).status.conditions or []
        found = {each.type: each.reason for each in conditions if each.status == "True"}
        return "Complete" if "Complete" in found else str(found.get("Failed", ""))

    return str(until(end))
