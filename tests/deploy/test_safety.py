"""Rights of what runs: none that it does not need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def test_the_pod_meets_the_restricted_standard(pod, container) -> None:
    """Pod Security Standards, profile "restricted"; and more than that."""
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()


def test_the_pod_holds_no_token_of_the_cluster(pod) -> None:
    assert pod["automountServiceAccountToken"] is False


def test_no_service_of_the_cluster_can_change_a_setting(pod) -> None:
    """A Service called onnxplain-rest would otherwise set ONNXPLAIN_REST_PORT."""
    assert pod["enableServiceLinks"] is False


def test_the_only_place_to_write_is_bounded(pod, container, dockerfile: list[list[str]]) -> None:
    (volume,) = pod["volumes"]
    assert volume["emptyDir"]["sizeLimit"]
    (mount,) = container["volumeMounts"]
    assert mount["name"] == volume["name"]
    assert [mount["mountPath"]] == [line[1] for line in dockerfile if line[0] == "WORKDIR"]


def test_the_user_of_the_image_is_the_pod_s(pod, dockerfile: list[list[str]]) -> None:
    (user,) = [line[1] for line in dockerfile if line[0] == "USER"]
    context = pod["securityContext"]
    assert user == f"{context['runAsUser']}:{context['runAsGroup']}"


def test_the_pod_asks_for_redis_and_names_only(manifest: list[Any]) -> None:
    (policy,) = [one["spec"] for one in manifest if one["kind"] == "NetworkPolicy"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert {port["port"] for rule in policy["egress"] for port in rule["ports"]} == {53, 6379}


@pytest.mark.parametrize("name", ["onnxplain", "redis"])
def test_containers_of_compose_are_as_bare(compose, name: str) -> None:
    service = compose["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["mem_limit"]
    assert not service.get("privileged")


def test_redis_of_compose_is_reachable_for_the_service_only(compose) -> None:
    redis = compose["services"]["redis"]
    assert "ports" not in redis
    assert [compose["networks"][name]["internal"] for name in redis["networks"]] == [True]
    assert compose["services"]["onnxplain"]["ports"]
    assert all(p.startswith("127.0.0.1:") for p in compose["services"]["onnxplain"]["ports"])


def test_the_image_gets_nothing_but_what_the_dockerfile_names(
    root: Path, dockerfile: list[list[str]]
) -> None:
    ignored = (root / ".dockerignore").read_text(encoding="utf-8").splitlines()
    copied = [
        source.replace("${REQUIREMENTS}", lock)
        for line in dockerfile
        if line[0] == "COPY" and not line[1].startswith("--")
        for source in line[1:-1]
        for lock in (("server", "sources") if "${REQUIREMENTS}" in source else ("",))
    ]
    assert ignored[1] == "*"
    assert [line.removeprefix("!") for line in ignored if line.startswith("!")] == sorted(
        copied, key=[line.removeprefix("!") for line in ignored].index
    )
    assert all((root / source).exists() for source in copied)


def test_everything_installed_is_checked_by_its_hash(root: Path) -> None:
    """Or comes from the two wheels that were built from this checkout."""
    text = (root / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    installs = [line for line in text.splitlines() if "pip install" in line]
    assert len(installs) == 4
    assert all("--require-hashes" in line or "--no-index" in line for line in installs)
