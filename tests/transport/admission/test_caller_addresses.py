"""Networks of caller addresses."""

from __future__ import annotations

import pytest
from onnxplain_server.transport.admission.caller_addresses import network, of_peer


@pytest.mark.parametrize(
    ("peer", "expected"),
    [
        ("ipv4:10.0.0.1:4711", "10.0.0.1"),
        ("ipv6:%5B2001:db8::1%5D:4711", "2001:db8::"),
        ("ipv6:[::ffff:10.0.0.1]:4711", "10.0.0.1"),
        ("unix:/run/socket", "unix:/run/socket"),
        ("unix:", "unix:"),
        ("ipv4:nonsense", ""),
    ],
)
def test_a_peer_is_known_by_its_network_and_not_by_its_port(peer: str, expected: str) -> None:
    assert of_peer(peer) == expected


def test_addresses_that_one_customer_can_choose_freely_are_one() -> None:
    assert network("2001:db8:0:1::1") == network("2001:db8:0:1:ffff::")
    assert network("2001:db8:0:1::1") != network("2001:db8:0:2::1")
    assert network("10.0.0.1") != network("10.0.0.2")
