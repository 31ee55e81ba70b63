"""Every file of values lives through install, test, upgrade, rollback and uninstall."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from authority import Authority
from kubernetes import client

from tools.waiting import until

FILES = Path(__file__).parents[2] / "helm/onnxplain/ci"
SHORT = ("minimal", "own-redis", "tls-tokens")
EXAMPLES = [
    pytest.param(name, marks=[pytest.mark.short] if name in SHORT else [])
    for name in sorted(path.name.removesuffix("-values.yaml") for path in FILES.glob("*.yaml"))
]
TOKEN = "Zm9yIHRlc3Rz-only"  # noqa: S105 - of a server that runs for these tests only


@pytest.fixture
def prepared(
    cluster, namespace: str, make_secret: Callable[..., None], authority: Authority
) -> None:
    """What the files of values refer to: Secrets, and an account without permissions."""
    for name in ("onnxplain-redis", "explain-redis"):
        make_secret(
            name,
            password="0123456789abcdef" * 2,
            cache_secret="f" * 32,
            url="rediss://onnxplain:word@redis.data.svc:6380/0?ssl_ca_certs=/etc/redis-ca/ca.crt",
        )
    certificate, key = authority.issue("server", f"release-onnxplain-grpc.{namespace}.svc")
    pair = {"tls.crt": certificate.read_text(), "tls.key": key.read_text()}
    files = {"ca.crt": authority.file.read_text(), **pair}
    make_secret("onnxplain-tls", **files)
    make_secret("onnxplain-dask-client", **files)
    certificate, key = authority.issue("test")
    make_secret(
        "onnxplain-test", **{"tls.crt": certificate.read_text(), "tls.key": key.read_text()}
    )
    for name in ("onnxplain-client-ca", "redis-ca", "internal-ca"):
        make_secret(name, **{"ca.crt": authority.file.read_text()})
    make_secret("model-token", token=TOKEN)
    keys = f"[default]\naws_access_key_id = tests\naws_secret_access_key = {TOKEN}\n"
    make_secret("lake-reader", credentials=keys)
    make_secret("mlflow-reader", header=f"Bearer {TOKEN}")
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    make_secret("onnxplain-tokens", tokens=f"tests {digest}\n")
    account = client.V1ServiceAccount(metadata=client.V1ObjectMeta(name="unprivileged"))
    cluster.core.create_namespaced_service_account(namespace, account)


@pytest.mark.usefixtures("prepared")
@pytest.mark.parametrize("example", EXAMPLES)
def test_a_release_lives(release, cluster, example: str) -> None:
    values = ["--values", FILES / f"{example}-values.yaml"]

    release.upgrade(*values)
    release.helm("test")
    first = {pod.metadata.name for pod in release.pods()}
    release.upgrade(*values, "--set", "podAnnotations.changed=yes")
    second = {pod.metadata.name for pod in release.pods()}
    release.helm("rollback", "1", "--wait")
    (annotations,) = {str(pod.metadata.annotations) for pod in release.pods()}
    release.helm("uninstall", "--wait")

    assert first
    assert not first & second
    assert "changed" not in annotations
    until(lambda: not cluster.core.list_namespaced_pod(release.namespace).items)
    left = cluster.core.list_namespaced_persistent_volume_claim(release.namespace).items
    assert not left
