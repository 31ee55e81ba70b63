"""FIRM of sequences: options from and to messages, results to messages."""

from __future__ import annotations

from onnxplain.v1 import firm_pb2 as pb

from onnxplain_server.core.arrays import Array
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.sequences import (
    ListedWeights,
    Options,
    Result,
    SequenceLayout,
    SequenceModel,
)
from onnxplain_server.methods.sequences.result import Kmers, MismatchClass
from onnxplain_server.wire.message_fields import enum, given

_NUMBERS = ("length", "max_length", "top_count", "sample_count")


def read_options(message: pb.FirmOptions, path: str) -> Options:
    """Read options, absent ones as their defaults.

    Raises
    ------
    ExplainError
        INVALID_OPTION where options for rows stand beside those for sequences.
    """
    others = sorted({field.name for field, _ in message.ListFields()} - {"sequences"})
    if others:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{others[0]} is for features of rows and cannot stand beside sequences",
            f"{path}.{others[0]}",
        )
    asked = message.sequences
    layout = enum(asked, "layout", f"{path}.sequences.layout") or "POSITION_MAJOR"
    return Options(
        column=asked.column,
        alphabet=asked.alphabet or "ACGT",
        background=SequenceModel(
            initial=tuple(asked.background.initial),
            transitions=tuple(asked.background.transitions),
            **given(asked.background, "order", "pseudo_count"),
        ),
        weights=_weights(asked.weights) if asked.HasField("weights") else None,
        motifs=tuple(asked.motifs),
        layout=SequenceLayout(layout),
        **given(asked, *_NUMBERS),
    )


def _weights(message: pb.FirmKmerWeights) -> ListedWeights:
    return ListedWeights(
        tuple(message.kmers),
        tuple(message.positions),
        tuple(message.values),
        message.constant,
    )


def write_options(options: Options) -> pb.FirmOptions:
    """Write options after defaults."""
    chain, weights = options.background, options.weights
    message = pb.FirmSequences(
        column=options.column,
        alphabet=options.alphabet,
        length=options.length,
        background=pb.FirmBackground(
            order=chain.order,
            initial=chain.initial,
            transitions=chain.transitions,
            pseudo_count=chain.pseudo_count,
        ),
        max_length=options.max_length,
        motifs=options.motifs,
        top_count=options.top_count,
        layout=options.layout.value,
        sample_count=options.sample_count,
    )
    if weights is not None:
        message.weights.CopyFrom(
            pb.FirmKmerWeights(
                kmers=weights.kmers,
                positions=weights.positions,
                values=weights.values,
                constant=weights.constant,
            )
        )
    return pb.FirmOptions(sequences=message)


def write_result(result: Result) -> pb.FirmResult:
    """Write a result."""
    return pb.FirmResult(
        output_names=result.output_names,
        mean_scores=result.means,
        score_standard_deviations=result.deviations,
        sequences=pb.FirmSequencesResult(
            alphabet=result.alphabet,
            length=result.length,
            is_exact=result.is_exact,
            background=pb.FirmBackground(
                initial=result.background.initial,
                transitions=result.background.transitions.ravel(),
            ),
            kmers=[_kmers(kmers) for kmers in result.kmers],
            top=[
                pb.FirmTopKmer(
                    kmer=top.kmer,
                    position=top.position,
                    output_index=top.output,
                    difference=top.difference,
                    importance=top.importance,
                )
                for top in result.top
            ],
            motifs=[
                pb.FirmMotif(
                    motif=motif.motif,
                    mismatches=[_mismatches(one) for one in motif.mismatch_classes],
                )
                for motif in result.motifs
            ],
        ),
    )


def _kmers(kmers: Kmers) -> pb.FirmKmers:
    return pb.FirmKmers(
        length=kmers.length,
        differences=kmers.differences.ravel(),
        importances=kmers.importances.ravel(),
        standard_errors=_flat(kmers.standard_errors),
    )


def _mismatches(found: MismatchClass) -> pb.FirmMismatches:
    return pb.FirmMismatches(
        mismatch_count=found.mismatch_count,
        kmer_count=found.kmer_count,
        differences=found.differences.ravel(),
        difference_standard_deviations=found.difference_deviations.ravel(),
        importances=found.importances.ravel(),
        importance_standard_deviations=found.importance_deviations.ravel(),
        weights=_flat(found.weights),
        weight_standard_deviations=_flat(found.weight_deviations),
    )


def _flat(values: Array | None) -> Array | None:
    return None if values is None else values.ravel()
