"""Secrets change while pods run: files are reloaded in place, variables replace the pods."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import onnxplain
from authority import Authority
from callers import MODEL

from tools.waiting import until

FILES = Path(__file__).parents[2] / "helm/onnxplain/ci"
OLD, NEW = "b2xkLW9uZQ-tests", "bmV3LW9uZQ-tests"


def test_new_tokens_and_certificates_reach_running_pods(
    release, small, make_secret: Callable[..., None], tmp_path: Path
) -> None:
    name = f"release-onnxplain-grpc.{release.namespace}.svc"
    old, new = (_authority(tmp_path / part) for part in ("old", "new"))
    make_secret("onnxplain-tokens", tokens=_line(OLD))
    make_secret("onnxplain-tls", **_pair(old, name))
    release.upgrade("--values", FILES / "tls-tokens-values.yaml", *release.values(small))
    pods = release.pods()

    def outcome(token: str, authority: Authority) -> str:
        """OK, or the code of the error of a call over a new connection."""
        with onnxplain.connect(
            f"dns:///{name}:8081", token=token, ca_file=authority.file, retry_count=0
        ) as client:
            try:
                client.describe(str(MODEL), timeout=60)
            except onnxplain.ExplainError as error:
                return error.code
        return "OK"

    until(lambda: outcome(OLD, old) == "OK")
    assert outcome(NEW, old) == "UNAUTHENTICATED"
    assert outcome(OLD, new) == "UNAVAILABLE"

    make_secret("onnxplain-tokens", tokens=_line(NEW))
    until(lambda: outcome(NEW, old) == "OK")
    assert outcome(OLD, old) == "UNAUTHENTICATED"

    make_secret("onnxplain-tls", **_pair(new, name))
    until(lambda: outcome(NEW, new) == "OK")
    assert outcome(NEW, old) == "UNAVAILABLE"

    assert _starts(release.pods()) == _starts(pods)


def test_new_variables_replace_the_pods_at_the_next_upgrade(
    release, small, make_secret: Callable[..., None]
) -> None:
    """Redis itself is out of reach, which pods endure."""
    make_secret("onnxplain-redis", url="redis://127.0.0.1:1/0", cache_secret="a" * 32)
    values = release.values({**small, "redis": {"existingSecret": "onnxplain-redis"}})
    release.upgrade(*values)
    first = release.names()

    release.upgrade(*values)
    unchanged = release.names()
    make_secret("onnxplain-redis", url="redis://127.0.0.1:1/0", cache_secret="b" * 32)
    release.upgrade(*values)

    assert unchanged == first
    assert release.names().isdisjoint(first)


def _authority(folder: Path) -> Authority:
    folder.mkdir()
    return Authority(folder)


def _pair(authority: Authority, name: str) -> dict[str, str]:
    certificate, key = authority.issue("server", name)
    return {
        "tls.crt": certificate.read_text(),
        "tls.key": key.read_text(),
        "ca.crt": authority.file.read_text(),
    }


def _line(token: str) -> str:
    return f"tests {hashlib.sha256(token.encode()).hexdigest()}\n"


def _starts(pods):
    """Return pods and starts of their containers."""
    return sorted(
        (pod.metadata.uid, status.restart_count, str(status.state.running.started_at))
        for pod in pods
        for status in pod.status.container_statuses
    )
