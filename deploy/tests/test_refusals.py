"""Values that cannot be meant stop helm, with a message that names them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"runing_count": 4}, "runing_count"),
        ({"running_count": 0}, "running_count"),
        ({"running_count": "four"}, "running_count"),
        ({"worker_bytes": "1GiBi"}, "worker_bytes"),
        ({"worker_bytes": "1Gi"}, "worker_bytes"),
        ({"worker_bytes": 1}, "worker_bytes"),
        ({"log_level": "loud"}, "log_level"),
        ({"max_seconds": 100_000}, "max_seconds"),
        ({"grace_seconds": None}, "grace_seconds"),
        ({"isolation": "perhaps"}, "isolation"),
        ({"oidc_issuer": "https://login.example"}, "oidc_audience"),
        ({"rest_port": 80}, "rest_port"),
        ({"redis_url": "redis://redis:6379/0"}, "redis_url"),
        ({"tokens_file": "/tokens"}, "tokens_file"),
    ],
)
def test_a_setting_that_the_service_would_refuse(
    refusal: Callable[[Any], str], settings, named: str
) -> None:
    assert named in refusal({"settings": settings})


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"replicas": 2}, "replicas"),
        ({"replicaCount": -1}, "replicaCount"),
        ({"image": {"digest": "latest"}}, "digest"),
        ({"image": {"pullPolicy": "Sometimes"}}, "pullPolicy"),
        ({"service": {"rest": {"port": 0}}}, "port"),
        ({"tls": {"secret": "tls"}}, "secret"),
        ({"networkPolicy": {"rest": {"from": "everywhere"}}}, "from"),
        ({"redis": {"maxMemory": "much"}}, "maxMemory"),
        ({"commonLabels": {"team": 1}}, "team"),
    ],
)
def test_a_value_that_the_chart_does_not_have(
    refusal: Callable[[Any], str], values, named: str
) -> None:
    assert named in refusal(values)


@pytest.mark.parametrize("given", ["2559Mi", "2.6G", 1_000_000, "512Mi"])
def test_memory_that_the_settings_exceed(refusal: Callable[[Any], str], given: object) -> None:
    said = refusal({"resources": {"limits": {"memory": given}}})
    assert "resources.limits.memory" in said
    assert "less than the 2560Mi" in said


def test_memory_that_is_no_size(refusal: Callable[[Any], str]) -> None:
    said = refusal({"resources": {"limits": {"memory": "6 gigs"}}})
    assert '"6 gigs" is no size like 6Gi' in said


def test_memory_of_redis_that_its_data_exceed(refusal: Callable[[Any], str]) -> None:
    resources = {"limits": {"memory": "512Mi"}}
    redis = {"enabled": True, "existingSecret": "redis", "resources": resources}
    assert "less than the 768Mi that redis.maxMemory" in refusal({"redis": redis})


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"redis": {"enabled": True}}, "redis.enabled needs redis.existingSecret"),
        ({"tls": {"clientCa": {"existingSecret": "ca"}}}, "needs tls.existingSecret"),
        ({"gateway": {"httpRoute": {"enabled": True}}}, "need gateway.parentRefs"),
        ({"gateway": {"grpcRoute": {"enabled": True}}}, "need gateway.parentRefs"),
        (
            {"metrics": {"serviceMonitor": {"enabled": True}, "podMonitor": {"enabled": True}}},
            "would read the metrics twice",
        ),
        (
            {"autoscaling": {"enabled": True, "keda": {"enabled": True, "triggers": [{}]}}},
            "would both set the number of pods",
        ),
        ({"autoscaling": {"keda": {"enabled": True}}}, "needs autoscaling.keda.triggers"),
        ({"extraPodSpec": {"containers": []}}, "extraPodSpec.containers is set by the chart"),
        ({"dnsPolicy": "none"}, "dnsPolicy"),
        ({"ingress": {"enabled": True}}, "ingress.enabled needs ingress.hosts"),
        ({"ingress": {"grpc": {"enabled": True}}}, "ingress.grpc.enabled needs"),
        (
            {"autoscaling": {"enabled": True, "minReplicas": 3, "maxReplicas": 2}},
            "autoscaling.maxReplicas: 2 is less than",
        ),
        (
            {
                "autoscaling": {
                    "enabled": True,
                    "targetCPUUtilizationPercentage": 0,
                    "targetWaitingRequests": 0,
                }
            },
            "autoscaling.enabled needs targetCPUUtilizationPercentage",
        ),
        (
            {"autoscaling": {"enabled": True}, "resources": {"requests": {"cpu": None}}},
            "needs resources.requests.cpu",
        ),
    ],
)
def test_values_that_do_not_fit_together(refusal: Callable[[Any], str], values, said: str) -> None:
    assert said in refusal(values)
