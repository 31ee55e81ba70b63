"""Upgrade of a release of an earlier chart, rollback to it, and what uninstall leaves."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
from kubernetes import dynamic
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic.resource import ResourceList
from releases import CHART, ROOT

EARLIER = "603131359e24849c9ea973291563f045fc1d6ec6"
"""Commit of the chart before it kept the replicas of an autoscaler; pods run today's service."""


@pytest.fixture
def earlier_chart(tmp_path: Path) -> Path:
    name = str(CHART.relative_to(ROOT))
    archived = subprocess.run(
        ["git", "-C", ROOT, "archive", EARLIER, name], capture_output=True, check=False
    )
    if archived.returncode:
        pytest.skip(f"commit {EARLIER[:8]} is not in this copy: {archived.stderr.decode()}")
    with tarfile.open(fileobj=io.BytesIO(archived.stdout)) as archive:
        archive.extractall(tmp_path / "earlier", filter="data")
    return tmp_path / "earlier" / name


def test_a_release_of_an_earlier_chart_is_upgraded_and_rolled_back(
    release, cluster, small, earlier_chart: Path
) -> None:
    before = _objects(cluster, release.namespace)
    values = release.values({**small, "replicaCount": 2, "metrics": {"annotations": True}})

    release.upgrade(*values, chart=earlier_chart)
    earlier = _manifest(release)
    release.upgrade(*values)
    today = _manifest(release)
    release.helm("test")
    release.helm("rollback", "1", "--wait")
    back = _manifest(release)
    release.wait_ready(2)
    release.helm("test")
    release.helm("uninstall", "--wait", "--cascade", "foreground")

    assert earlier != today
    assert back == earlier
    assert _objects(cluster, release.namespace) == before


def _manifest(release) -> str:
    command = ("get", "manifest", release.name, "--namespace", release.namespace)
    return str(release.cluster.helm(*command))


def _objects(cluster, namespace: str) -> set[tuple[str, str]]:
    """Return kind and name of all objects of a namespace, except events."""
    kinds: Any = dynamic.DynamicClient(cluster.plane.api).resources
    found = set()
    for kind in kinds.search(namespaced=True):
        if isinstance(kind, ResourceList) or "list" not in kind.verbs or kind.kind == "Event":
            continue
        try:
            listed = kind.get(namespace=namespace).items
        except ApiException as error:
            if error.status not in {404, 405}:
                raise
            continue
        found |= {(kind.kind, one.metadata.name) for one in listed}
    return found
