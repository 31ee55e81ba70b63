"""Limits of fields as members of JSON Schemas."""

from __future__ import annotations

from tools.contract.limits import Limits
from tools.openapi.values import Schema

_MEMBERS = {
    "min": "minimum",
    "max": "maximum",
    "exclusive_min": "exclusiveMinimum",
    "exclusive_max": "exclusiveMaximum",
}


def of_number(limits: Limits) -> Schema:
    """Return the range that a number must be in."""
    schema: Schema = {
        member: int(value) if value == int(value) else value
        for name, member in _MEMBERS.items()
        if (value := getattr(limits, name)) is not None
    }
    # That 0 is apart is told by comments: an alternative in a number is a type of its own to
    # generators.
    return {**schema, "minimum": 0} if limits.zero_is_off else schema


def of_count(limits: Limits, unit: str) -> Schema:
    """Return how many "Items" an array, or how much "Length" a text, must have."""
    schema: Schema = {}
    if limits.max_items is not None:
        schema[f"max{unit}"] = limits.max_items
    # Empty is the same as left out.
    if limits.min_items is not None and limits.required:
        schema[f"min{unit}"] = limits.min_items
    return schema
