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
    if limits.zero_is_off:
        return {**schema, "minimum": 0, "anyOf": [{"maximum": 0}, {"minimum": limits.min}]}
    return schema


def of_count(limits: Limits, unit: str) -> Schema:
    """Return how many "Items" an array, or how much "Length" a text, must have."""
    schema: Schema = {}
    if limits.max_items is not None:
        schema[f"max{unit}"] = limits.max_items
    if limits.min_items is not None:
        least = {f"min{unit}": limits.min_items}
        # Empty is the same as left out.
        schema |= least if limits.required else {"anyOf": [{f"max{unit}": 0}, least]}
    return schema
