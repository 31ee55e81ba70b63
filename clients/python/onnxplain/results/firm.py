"""Results of `Firm`: importance of features and of strings at positions."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from onnxplain.results.origins import ClassPairing, Conclusion, RowsUsed
from onnxplain.results.plots import Plot
from onnxplain.results.reading import nan_if_empty, read
from onnxplain.results.tabular import Tabular, read_result, to_rows
from onnxplain.v1 import explanation_service_pb2, firm_pb2
from onnxplain.v1.firm_pb2 import FirmOptions

_FEATURES = pa.schema(
    [
        ("feature", pa.string()),
        ("output", pa.string()),
        ("value", pa.float64()),
        ("standard_error", pa.float64()),
        ("lower", pa.float64()),
        ("upper", pa.float64()),
        ("estimator", pa.string()),
    ]
)
_KMERS = pa.schema(
    [
        ("kmer", pa.string()),
        ("position", pa.int32()),
        ("output", pa.string()),
        ("difference", pa.float64()),
        ("importance", pa.float64()),
        ("standard_error", pa.float64()),
    ]
)


@dataclass(frozen=True, slots=True, eq=False)
class FirmImportance:
    """Importance of a feature: how far it moves the expected score.

    Attributes
    ----------
    feature : str
        As in the request.
    values : (n_outputs,)
        Standard deviation of the expected score; signed by GAUSSIAN, TWO_VALUED and SLOPE.
    standard_errors, lower, upper : (n_outputs,)
        From resampled rows; NaN without replicates.
    estimator : str
    levels : (n_points,)
        Values of the feature, or means of bins; numbers, or texts.
    expected_scores : (n_points, n_outputs)
        Expected score at each.
    shares : (n_points,)
        Share of the rows there.
    grouped_features : tuple of str
        Features of a group; empty for a feature by itself.
    """

    feature: str
    values: npt.NDArray[np.float64]
    standard_errors: npt.NDArray[np.float64]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    estimator: str
    levels: npt.NDArray[np.float64] | npt.NDArray[np.str_]
    expected_scores: npt.NDArray[np.float64]
    shares: npt.NDArray[np.float64]
    grouped_features: tuple[str, ...] = ()

    @classmethod
    def from_message(cls, message: firm_pb2.FirmImportance) -> FirmImportance:
        """Read the message of the contract."""
        curve = message.curve
        return read(
            cls,
            message,
            **nan_if_empty(message, "standard_errors", "lower", "upper"),
            levels=np.array(curve.texts) if curve.texts else np.array(curve.numbers),
            expected_scores=np.array(curve.expected_scores).reshape(-1, len(message.values)),
            shares=np.array(curve.shares),
        )


@dataclass(frozen=True, slots=True, eq=False)
class FirmKmers:
    """All strings of one length at all positions.

    Attributes
    ----------
    kmers : tuple of str
        In the order of the alphabet.
    differences : (n_strings, n_positions, n_outputs)
        Expected score with the string there, minus that of all sequences.
    importances : (n_strings, n_positions, n_outputs)
    standard_errors : (n_strings, n_positions, n_outputs) or None
        Of the differences; None where numbers are exact.
    """

    kmers: tuple[str, ...]
    differences: npt.NDArray[np.float64]
    importances: npt.NDArray[np.float64]
    standard_errors: npt.NDArray[np.float64] | None

    @classmethod
    def from_message(
        cls, message: firm_pb2.FirmKmers, sequences: firm_pb2.FirmSequencesResult
    ) -> FirmKmers:
        """Read the message of the contract."""
        kmers = tuple(map("".join, product(sequences.alphabet, repeat=message.length)))
        shape = (len(kmers), sequences.length - message.length + 1, -1)
        return cls(
            kmers=kmers,
            differences=np.array(message.differences).reshape(shape),
            importances=np.array(message.importances).reshape(shape),
            standard_errors=np.array(message.standard_errors).reshape(shape)
            if message.standard_errors
            else None,
        )


@dataclass(frozen=True, slots=True, eq=False)
class FirmResult(Tabular):
    """Importances of features, or of strings at positions.

    Attributes
    ----------
    output_names : tuple of str
        The model's outputs, then the target's.
    importances : tuple of FirmImportance
        In the order of the request, pairs last; empty for sequences.
    kmers : tuple of FirmKmers
        By length; empty unless sequences were asked for.
    mean_scores, score_standard_deviations : (n_outputs,)
    plots : tuple of Plot
    options : FirmOptions
        The message with every default filled in.
    rows : RowsUsed or None
        The rows of the table that the numbers are computed on.
    message : FirmResult
        As the server sent it: with what is not above, such as other measures and motifs.
    class_pairings : tuple of ClassPairing
        Classes of the target, and the outputs they were compared with; empty without classes.
    conclusions : tuple of Conclusion
        What also holds in the replicates of the rows; empty without these.

    Examples
    --------
    >>> frame = explanations.firm.to_pandas()
    >>> frame.sort_values("value", key=abs, ascending=False)
    """

    output_names: tuple[str, ...]
    importances: tuple[FirmImportance, ...]
    kmers: tuple[FirmKmers, ...]
    mean_scores: npt.NDArray[np.float64]
    score_standard_deviations: npt.NDArray[np.float64]
    plots: tuple[Plot, ...]
    options: FirmOptions
    rows: RowsUsed | None
    message: firm_pb2.FirmResult = field(repr=False)
    class_pairings: tuple[ClassPairing, ...] = ()
    conclusions: tuple[Conclusion, ...] = ()

    @classmethod
    def from_message(cls, message: explanation_service_pb2.Explanation) -> FirmResult:
        """Read the message of the contract."""
        result = message.firm
        sequences = result.sequences
        return read_result(
            cls,
            message,
            importances=tuple(FirmImportance.from_message(i) for i in result.importances),
            kmers=tuple(FirmKmers.from_message(k, sequences) for k in sequences.kmers),
        )

    def to_arrow(self) -> pa.Table:
        """Return one row per feature and output, or per string, position and output.

        Returns
        -------
        pyarrow.Table
            Columns `feature`, `output`, `value`, `standard_error`, `lower`, `upper`,
            `estimator`; or `kmer`, `position`, `output`, `difference`, `importance`,
            `standard_error`. Errors are null where there are none.
        """
        if self.kmers:
            return pa.concat_tables([self._strings(kmers) for kmers in self.kmers])
        rows = [
            (i.feature, output, i.values[k], *_interval(i, k), i.estimator)
            for i in self.importances
            for k, output in enumerate(self.output_names)
        ]
        return to_rows(rows, _FEATURES)

    def _strings(self, kmers: FirmKmers) -> pa.Table:
        count, positions, outputs = kmers.differences.shape
        errors = kmers.standard_errors
        columns = (
            np.repeat(kmers.kmers, positions * outputs),
            np.tile(np.repeat(np.arange(positions, dtype=np.int32), outputs), count),
            np.tile(self.output_names, count * positions),
            kmers.differences.ravel(),
            kmers.importances.ravel(),
            pa.nulls(kmers.differences.size, pa.float64()) if errors is None else errors.ravel(),
        )
        return pa.table([pa.array(c) for c in columns], names=_KMERS.names).cast(_KMERS)


def _interval(importance: FirmImportance, output: int) -> tuple[float | None, ...]:
    """Return standard error and interval; None where there are none."""
    arrays = (importance.standard_errors, importance.lower, importance.upper)
    return tuple(None if np.isnan(a[output]) else float(a[output]) for a in arrays)
