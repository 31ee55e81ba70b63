"""Options of accumulated local effects, and the checks that need no table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from onnxplain_server.core.contract_limits import AccumulatedLocalEffectsOptions
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.option_checks import check_limits, choose
from onnxplain_server.methods.resampling import Resampling

MOST_FEATURES = 2
"""Most features of an entry."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the method; see `AccumulatedLocalEffectsOptions` in the contract.

    Attributes
    ----------
    features : tuple of tuples of str
        Empty, before `resolve`: each feature singly.
    """

    features: tuple[tuple[str, ...], ...] = ()
    bin_count: int = AccumulatedLocalEffectsOptions.bin_count.default
    group_column: str = ""
    group_count: int = AccumulatedLocalEffectsOptions.group_count.default
    resampling: Resampling = field(default_factory=Resampling)


def resolve(options: Options, names: Sequence[str], path: str) -> Options:
    """Fill in the default of `features`; reject invalid options.

    Raises
    ------
    ExplainError
        UNKNOWN_FEATURE or INVALID_OPTION.
    """
    features = options.features or tuple((name,) for name in names)
    for i, entry in enumerate(features):
        place = f"{path}.features[{i}].names"
        choose(entry or ("",), names, place)
        if len(entry) > MOST_FEATURES:
            raise ExplainError(
                Reason.INVALID_OPTION,
                f"effects are accumulated along one feature or two; {len(entry)} are given",
                place,
            )
    check_limits(AccumulatedLocalEffectsOptions, options, path)
    check_limits(AccumulatedLocalEffectsOptions, options.resampling, path)
    return replace(options, features=features)
