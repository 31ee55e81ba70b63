"""Warnings as messages, with the kind that is declared for their code."""

from __future__ import annotations

from collections.abc import Iterable

from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1.partial_dependence_pb2 import FeatureGroup

from onnxplain_server.core.model import Note


def write_warnings(notes: Iterable[Note]) -> list[service_pb2.Warning]:
    """Write warnings of an answer."""
    return [
        service_pb2.Warning(
            code=note.code,
            message=note.message,
            kind=note.tells.name,
            suggested_groups=[FeatureGroup(names=names) for names in note.suggested_groups],
        )
        for note in notes
    ]
