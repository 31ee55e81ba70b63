"""Canonical form of URIs: laws that hold for any text."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.adapters.sources.canonical_uri import CanonicalUri, canonical
from onnxplain_server.core.errors import ExplainError

PIECES = st.sampled_from(
    [
        *("s3:", "https:", "gs:", "models:", "file:", "HTTPS:", "//", "/", "\\", ".", "..", "%2e"),
        *("%2F", "%25", "%41", "%C3%A9", "é", "host.test", "HOST.test", ":443", ":8443", "@", "?"),
        *("#", ";", "[::1]", "127.0.0.1", "0x7f.1", "2130706433", "bucket", "a", "a b", "\n", "\0"),
    ]
)
ANY = st.one_of(
    st.text(max_size=60),
    st.lists(PIECES, max_size=10).map("".join),
    st.lists(PIECES, max_size=8).map(lambda pieces: "https://host.test/" + "".join(pieces)),
    st.lists(PIECES, max_size=8).map(lambda pieces: "s3://bucket/" + "".join(pieces)),
)
SEGMENT = st.text(
    st.characters(exclude_categories=["C", "Z"], exclude_characters="/\\?#%;"), min_size=1
).filter(lambda text: text not in {".", ".."} and text.isprintable())


def parsed(text: str) -> CanonicalUri | None:
    try:
        return canonical(text)
    except ExplainError:
        return None


@given(ANY)
def test_the_canonical_form_is_its_own_canonical_form(text: Any) -> None:
    found = parsed(text)

    assert found is None or canonical(str(found)) == found


@given(ANY)
def test_no_part_of_a_path_leads_elsewhere(text: Any) -> None:
    found = parsed(text)

    if found is not None:
        assert not {"", ".", ".."} & set(found.segments)
        assert not any(set("/\\\r\n\0") & set(segment) for segment in found.segments)


@given(ANY)
def test_another_parser_sees_the_same_host_and_path(text: Any) -> None:
    """urllib.parse, which obstore does not use either, agrees on what is accepted."""
    found = parsed(text)

    if found is not None and found.scheme == "https":
        seen = urlsplit(str(found))
        port = f":{seen.port}" if seen.port else ""
        host = f"[{seen.hostname}]" if ":" in (seen.hostname or "") else seen.hostname
        assert (f"{host}{port}", seen.username, seen.query) == (found.authority, None, "")
        assert unquote(seen.path) == f"/{found.path}"


@given(st.lists(SEGMENT, min_size=1, max_size=4), st.lists(SEGMENT, max_size=3))
def test_an_address_is_below_a_prefix_by_whole_segments(prefix: Any, rest: Any) -> None:
    folder = CanonicalUri("s3", "bucket", tuple(prefix), is_folder=True)
    inside = CanonicalUri("s3", "bucket", (*prefix, *rest, "file"))
    beside = CanonicalUri("s3", "bucket", (*prefix[:-1], prefix[-1] + "x", *rest, "file"))

    assert inside.is_below(folder)
    assert not beside.is_below(folder)


@given(st.lists(SEGMENT, min_size=1, max_size=4))
def test_encoded_and_plain_paths_of_web_servers_are_the_same(segments: Any) -> None:
    path = "/".join(segments)

    plain = parsed(f"https://host.test/{path}")
    encoded = parsed(f"https://host.test/{quote(path)}")

    assert plain == encoded
    assert plain is None or plain.segments == tuple(segments)


@pytest.mark.parametrize(
    ("given_uri", "expected"),
    [
        ("HTTPS://Host.Test:443/a%41/%7Eb", "https://host.test/aA/~b"),
        ("https://host.test:8443/é", "https://host.test:8443/%C3%A9"),
        ("https://[2001:DB8:0::1]/a", "https://[2001:db8::1]/a"),
        ("https://host.test", "https://host.test/"),
        ("s3://bucket/year=2026/", "s3://bucket/year=2026/"),
        ("models:/churn@champion", "models:/churn@champion"),
    ],
)
def test_spellings_of_an_address_become_one(given_uri: Any, expected: Any) -> None:
    assert str(canonical(given_uri)) == expected
