"""Readers of what comes before a request is taken: the head of HTTP, and a model's file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from onnx import ModelProto
from onnxplain_server.adapters.onnx.analysis.affine import is_affine
from onnxplain_server.adapters.onnx.analysis.outputs import read_parts
from onnxplain_server.adapters.onnx.analysis.precision import roundings
from onnxplain_server.adapters.onnx.analysis.reachable_columns import read_reach
from onnxplain_server.adapters.onnx.analysis.trees import read_trees
from onnxplain_server.adapters.onnx.faults import loading
from onnxplain_server.adapters.onnx.inputs import read_inputs
from onnxplain_server.adapters.onnx.read import operators, read
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.telemetry.tracing import UNTRACED
from onnxplain_server.transport.admission import caller_addresses
from onnxplain_server.transport.admission.size_limits import BodyLimits, SizeLimit
from onnxplain_server.transport.rest.connections.request_parser import RequestParser
from onnxplain_server.transport.rest.headers import challenge
from onnxplain_server.transport.rest.origin_policy import OriginPolicy
from waitress.adjustments import Adjustments

_UPLOADS = {"/v1/models": SizeLimit("model", 100, "upload_bytes")}
_POLICY = OriginPolicy.of(".example.com", "https://app.example.com")
_COLUMNS = 3


def _check_headers(_path: str, authorization: str | None) -> ExplainError | None:
    return None if authorization else ExplainError(Reason.UNAUTHENTICATED, "send a token")


def http(given: bytes) -> None:
    """A request of HTTP as it arrives: each byte is taken once, and what is complete is told."""
    adjustments = Adjustments(max_request_body_size=1_000, max_request_header_size=1_000)
    parser = RequestParser(adjustments, _check_headers, _POLICY, BodyLimits(999, _UPLOADS), 9.0)
    rest = given
    while rest and not parser.completed:
        count = parser.received(rest)
        assert 0 < count <= len(rest)
        rest = rest[count:]
    assert parser.deadline <= parser.start + 9
    headers = {name.lower().replace("_", "-"): text for name, text in parser.headers.items()}
    UNTRACED.begin("Explain", headers, {})
    for text in headers.values():
        _POLICY.cors_headers(text)
        caller_addresses.of_peer(text)
        challenge(text, sent=True).encode("ascii")


def model(given: bytes) -> None:
    """A model's file, up to where the runtime would load it; and its analysis."""
    try:
        with loading():
            graph, _ = read(given)
            operators(graph.model)
            read_inputs(graph)
            parts = read_parts(graph)
    except ExplainError:
        return
    counts = (1,) * len(parts)
    analyses: tuple[Callable[[ModelProto], object], ...] = (
        lambda proto: read_trees(proto, parts, counts, _COLUMNS),
        is_affine,
        roundings,
        lambda proto: read_reach(proto, _COLUMNS),
    )
    for analyse in analyses:
        # As the model's own properties do: what cannot be read is not used.
        with suppress(Exception):
            analyse(graph.model)
