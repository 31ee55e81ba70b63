"""Servers of the platform's identity: those that obstore asks for credentials."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Mapping

from onnxplain_server.adapters.sources.connections.upstream import Upstream

_LINK_LOCAL = (ipaddress.ip_network("169.254.0.0/16"), ipaddress.ip_network("fd00:ec2::/32"))
_METADATA_HOSTS = (
    *("169.254.169.254", "169.254.170.2", "169.254.170.23"),  # EC2, ECS, EKS
    *("metadata.google.internal", "metadata"),
)
_GOOGLE_TOKEN_HOSTS = (
    "oauth2.googleapis.com",
    "sts.googleapis.com",
    "iamcredentials.googleapis.com",
)


def credential_upstreams() -> Mapping[str, Upstream]:
    """Return the metadata services, which speak plain HTTP on link-local addresses."""
    return {host: Upstream(host, 80, networks=_LINK_LOCAL) for host in _METADATA_HOSTS}


def credential_tunnels(region: str) -> Mapping[str, Upstream]:
    """Return the services of tokens, which speak TLS on public addresses."""
    hosts = ("sts.amazonaws.com", f"sts.{region}.amazonaws.com", *_GOOGLE_TOKEN_HOSTS)
    context = ssl.create_default_context()
    return {f"{host}:443": Upstream(host, 443, context) for host in hosts}
