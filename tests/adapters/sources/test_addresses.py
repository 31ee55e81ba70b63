"""Addresses that a connection may be made to."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest
from onnxplain_server.adapters.sources.connections.addresses import is_allowed

CLUSTER = (ipaddress.ip_network("10.96.0.0/12"),)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
        *("0.0.0.1", "224.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.2.1", "240.0.0.1"),
        *("::1", "::", "fe80::1", "fd00:ec2::254", "fc00::1", "ff02::1", "2001:db8::1"),
        *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "64:ff9b::7f00:1"),
        *("2002:7f00:1::", "2002:a9fe:a9fe::"),
    ],
)
def test_a_name_may_not_lead_to_a_private_address(address: Any) -> None:
    assert not is_allowed("store.example.com", ipaddress.ip_address(address), ())


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "52.95.110.1", "2600:1f60:8000::1", "::ffff:8.8.8.8"]
)
def test_a_name_may_lead_to_a_public_address(address: Any) -> None:
    assert is_allowed("store.example.com", ipaddress.ip_address(address), ())


def test_an_address_that_the_operator_names_is_meant() -> None:
    assert is_allowed("127.0.0.1", ipaddress.ip_address("127.0.0.1"), ())
    assert not is_allowed("127.0.0.1", ipaddress.ip_address("127.0.0.2"), ())
    assert is_allowed("localhost", ipaddress.ip_address("::1"), ())
    assert not is_allowed("localhost", ipaddress.ip_address("10.0.0.1"), ())


def test_a_network_that_the_operator_names_is_meant() -> None:
    assert is_allowed("minio.storage.svc", ipaddress.ip_address("10.100.3.4"), CLUSTER)
    assert not is_allowed("minio.storage.svc", ipaddress.ip_address("10.0.0.1"), CLUSTER)
