"""Kept replicates: methods that are asked for the replicates of their statistics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.registry import Options
from onnxplain_server.methods.resampling import KEPT_REPEATS, Resampling, Scheme, kept_repeats


def with_kept_replicates(methods: tuple[Options, ...]) -> tuple[Options, ...]:
    """Return options under which results keep replicates, for the methods that have some.

    Raises
    ------
    ExplainError
        INVALID_OPTION where no method has replicates, and for the jackknife.
    """
    keeping = tuple(_keeping(options, f"methods[{i}]") for i, options in enumerate(methods))
    if all(own is given for own, given in zip(keeping, methods, strict=True)):
        raise ExplainError(
            Reason.INVALID_OPTION,
            "replicates are of interactions, partial dependence, accumulated local effects, "
            "average loss, permutation importance, FIRM and attributions of rows that are drawn; "
            "name one of these in methods, or leave replicates out",
            "replicates",
        )
    return keeping


def _keeping(options: Any, path: str) -> Options:
    """Return options that keep replicates; the same ones of a method that has none."""
    resampling = getattr(options, "resampling", None)
    if isinstance(resampling, Resampling):
        if resampling.scheme is Scheme.JACKKNIFE:
            raise ExplainError(
                Reason.INVALID_OPTION,
                "replicates are kept of the bootstrap; those of the jackknife do not tell the "
                "chance of a difference. Leave resampling or replicates out",
                f"{path}.resampling",
            )
        resampled: Options = replace(options, resampling=kept_repeats(resampling))
        return resampled
    if getattr(options, "may_keep_replicates", False):
        averaged: Options = replace(options, kept_repeat_count=KEPT_REPEATS)
        return averaged
    own: Options = options
    return own
