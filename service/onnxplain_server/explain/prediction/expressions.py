"""Predictions to explain: expressions over a model's outputs, in the place of these outputs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix
from onnxplain_server.core.contract_limits import ExplainRequest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import listed
from onnxplain_server.language import (
    ColumnValues,
    Expression,
    Scope,
    ValueKind,
    evaluate_unchecked,
    parse,
)

_NAMED = re.compile(r"\s*(?:`([^`]+)`|([^\W\d]\w*))\s*=(?!=)")
_SHORT_NAMES = ("y", "p")
"""Further names of the only output of a model."""
_OUTPUTS = Scope(
    "the model has no output {name}; it has {known}",
    "the expression names no output of the model",
    Reason.INVALID_OPTION,
)


@dataclass(frozen=True, eq=False)
class Predictions:
    """Expressions over the outputs of a model.

    Attributes
    ----------
    names : tuple of str
        Of the expressions, as outputs.
    expressions : tuple of Expression
    positions : mapping of str to int
        Output of the model for each name that an expression may use.
    """

    names: tuple[str, ...]
    expressions: tuple[Expression, ...]
    positions: Mapping[str, int]

    @cached_property
    def used(self) -> tuple[Indices, ...]:
        """Positions of the model's outputs that each expression uses, ascending."""
        return tuple(
            np.unique([self.positions[name] for name in expression.columns])
            for expression in self.expressions
        )

    def evaluate(self, outputs: Matrix) -> Matrix:
        """Compute the predictions from outputs of the model.

        Parameters
        ----------
        outputs : (n_rows, n_model_outputs)

        Returns
        -------
        (n_rows, n_predictions)
            NaN where an output of the model that the expression uses is not finite.

        Raises
        ------
        ExplainError
            NON_FINITE_PREDICTION where a prediction is not finite, but the outputs are.
        """
        values = self.evaluate_unchecked(outputs)
        for k, used in enumerate(self.used):
            is_broken = ~np.isfinite(outputs[:, used]).all(axis=1)
            values[is_broken, k] = np.nan
            wrong = np.flatnonzero(~np.isfinite(values[:, k]) & ~is_broken)
            if len(wrong):
                raise self._not_finite(k, outputs[wrong[0]], values[wrong[0], k])
        return values

    def evaluate_unchecked(self, outputs: Matrix) -> Matrix:
        """Compute the predictions, with NaN and infinity as they come out."""
        columns = ColumnValues({name: outputs[:, k] for name, k in self.positions.items()})
        return np.stack([evaluate_unchecked(e, columns) for e in self.expressions], axis=1)

    def _not_finite(self, k: int, outputs: Matrix, value: float) -> ExplainError:
        expression = self.expressions[k]
        used = expression.columns
        given = ", ".join(f"{name} = {outputs[self.positions[name]]:g}" for name in used)
        return ExplainError(
            Reason.NON_FINITE_PREDICTION,
            f"the prediction {expression.text!r} is {value:g} where the model gives {given}; keep "
            "it finite, as by clip(x, low, high), or leave such rows out",
            expression.path,
        )


def read_predictions(texts: Sequence[str], output_names: Sequence[str]) -> Predictions:
    """Parse the field `prediction` of a request.

    Raises
    ------
    ExplainError
        INVALID_OPTION.
    """
    limit = ExplainRequest.prediction.max_items
    if len(texts) > limit:
        message = f"prediction has {len(texts)} entries; at most {limit}"
        raise ExplainError(Reason.INVALID_OPTION, message, "prediction")
    positions = {name: k for k, name in enumerate(output_names)}
    if len(output_names) == 1:
        positions |= dict.fromkeys(_SHORT_NAMES, 0)
    kinds = dict.fromkeys(positions, ValueKind.NUMBER)
    split = [_split_name(text, kinds) for text in texts]
    names = tuple(name for name, _ in split)
    repeated = tuple(name for i, name in enumerate(names) if name in names[:i])
    if repeated:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"two predictions are called {listed(repeated)}; name one otherwise, as in a = exp(y)",
            "prediction",
        )
    expressions = tuple(
        parse(text, kinds, f"prediction[{i}]", _OUTPUTS) for i, (_, text) in enumerate(split)
    )
    return Predictions(names, expressions, positions)


def _split_name(text: str, kinds: Mapping[str, ValueKind]) -> tuple[str, str]:
    """Split `name = expression`; an expression without a name is called by its own text."""
    named = None if text in kinds else _NAMED.match(text)
    if named is None:
        return text.strip(), text
    return named[1] or named[2], text[named.end() :].strip()
