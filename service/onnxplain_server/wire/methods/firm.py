"""FIRM on the wire: on rows, or of sequences, which are a field of its options and result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxplain.v1 import firm_pb2

from onnxplain_server.core.arrays import Array
from onnxplain_server.methods.registry import SEQUENCES, Options, method_of
from onnxplain_server.wire.message_fields import Values, WireExceptions
from onnxplain_server.wire.methods.interactions import interval

if TYPE_CHECKING:
    from onnxplain_server.methods.firm.result import ConditionalExpectation
    from onnxplain_server.methods.sequences.result import MismatchClass


def _write_options(options: Options) -> Values:
    if method_of(options) is not SEQUENCES:
        return {"sequences": None}
    rows_only = dict.fromkeys(firm_pb2.FirmOptions.DESCRIPTOR.fields_by_name)
    return {**rows_only, "sequences": options}


def _result(result: Any) -> Values:
    """Write the result of FIRM on rows, or of FIRM of sequences."""
    moments = {"mean_scores": result.means, "score_standard_deviations": result.deviations}
    if method_of(result) is not SEQUENCES:
        return {**moments, "contrasts": result.contrasts, "sequences": None}
    rows_only = dict.fromkeys(firm_pb2.FirmResult.DESCRIPTOR.fields_by_name)
    return {**rows_only, **moments, "output_names": result.output_names, "sequences": result}


def _curve(curve: ConditionalExpectation) -> Values:
    is_text = curve.levels.dtype == object
    return {
        "expected_scores": curve.expected,
        "texts": curve.levels if is_text else None,
        "numbers": None if is_text else curve.levels,
    }


def _mismatches(mismatches: MismatchClass) -> Values:
    return {
        "difference_standard_deviations": mismatches.difference_deviations,
        "importance_standard_deviations": mismatches.importance_deviations,
        "weight_standard_deviations": mismatches.weight_deviations,
    }


def _background(background: Any) -> Values:
    """Write the Markov chain; the options tell how it was fitted."""
    options: dict[str, Array | None] = dict.fromkeys(("order", "pseudo_count"))
    return {**options, "initial": background.initial, "transitions": background.transitions}


EXCEPTIONS = WireExceptions(
    write={"FirmOptions": _write_options},
    results={
        "FirmResult": _result,
        "FirmImportance": lambda importance: interval(importance.spread),
        "FirmCurve": _curve,
        "FirmBackground": _background,
        "FirmTopKmer": lambda top: {"output_index": top.output},
        "FirmMotif": lambda motif: {"mismatches": motif.mismatch_classes},
        "FirmMismatches": _mismatches,
    },
)
