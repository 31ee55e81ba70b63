"""Comparison of the libraries on one problem, with brute force as the judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import onnxplain
import onnxruntime
import pandas as pd
from onnx import ModelProto

from bench.accuracy.attribution_peers import judge
from bench.accuracy.attribution_peers.judge import Vector
from bench.accuracy.attribution_peers.libraries import LIBRARIES, Question, asked, ours
from bench.accuracy.attribution_peers.models import Table, exported, fitted, predictor

INTERVENTIONAL, PATH_DEPENDENT = "interventional", "path-dependent"
OURS = "onnxplain"
BACKGROUND, EXPLAINED, JUDGED = 100, 20, 1
SAME = 1e-5
"""Share of the spread up to which differences are the rounding of float32."""


class Comparison(NamedTuple):
    """A library's largest differences, as shares of the spread; or its refusal."""

    problem: str
    model: str
    game: str
    order: int
    library: str
    from_ours: float
    from_judge: float
    refusal: str = ""
    reason: str = ""

    @property
    def what(self) -> str:
        """Return what was asked, in words."""
        return f"{self.game} {'values' if self.order == 1 else 'pairs'}"

    def line(self) -> str:
        """Return the line of the terminal."""
        what = f"{self.problem:10} {self.model:21} {self.what:21} {self.library:9}"
        if self.refusal:
            return f"{what} {self.refusal}"
        verdict = "right" if self.from_judge <= SAME else self.reason or "WRONG"
        return f"{what} {self.from_ours:8.1e} {self.from_judge:8.1e} {verdict}"


@dataclass(frozen=True)
class Problem:
    """A trained model, its ONNX file, and the rows that both are asked about.

    Attributes
    ----------
    rows : (n_rows, n_columns)
    counted : int
        Rows that are counted for path-dependent values: the first, which the model was trained on.
    background, explained : sequence of int
        Rows of the background for interventional values, and the rows to explain.
    judged : int
        The first rows to explain that are judged, beside those that a library tells most otherwise.
    reasons : dict of str to str
        Why path-dependent or interventional values differ where no library is wrong.
    """

    name: str
    kind: str
    model: Any
    content: ModelProto
    rows: pd.DataFrame
    counted: int
    is_margin: bool = False
    background: Sequence[int] = range(BACKGROUND)
    explained: Sequence[int] = range(BACKGROUND, BACKGROUND + EXPLAINED)
    judged: int = JUDGED
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def predict(self) -> judge.Predict:
        """Return the library's own predictions."""
        return predictor(self.model)

    @property
    def spread(self) -> float:
        """Return the standard deviation of the predictions."""
        return float(np.std(self.predict(self.rows.to_numpy())))

    def compare(self, client: onnxplain.Client, game: str) -> Iterator[Comparison]:
        """Compare values and interactions of all libraries."""
        own = self._ours(client, game)
        background = None if game == PATH_DEPENDENT else self.rows.iloc[[*self.background]]
        question = Question(self.model, self.rows.iloc[[*self.explained]], background)
        orders = (1, 2)[: self.rows.shape[1]]
        answers = {(order, OURS): own[order - 1] for order in orders} | {
            (order, name): asked(name, question, order) for order in orders for name in LIBRARIES
        }
        apart = {
            key: np.abs(answer - own[key[0] - 1]).max(axis=1) / self.spread
            for key, answer in answers.items()
            if not isinstance(answer, str)
        }
        judged = {*range(self.judged), *(int(off.argmax()) for off in apart.values())}
        right = self._right(game, self.predict, sorted(judged))
        for (order, name), answer in sorted(answers.items(), key=lambda each: each[0][0]):
            place = (self.name, self.kind, game, order, name)
            if isinstance(answer, str):
                yield Comparison(*place, np.nan, np.nan, answer)
                continue
            off = float(np.abs(answer[sorted(judged)] - right[order - 1]).max() / self.spread)
            reason = self._reason(game, answer)
            if name == OURS:
                reason = self._by_file(game, answer, order, sorted(judged)) if off > SAME else ""
            yield Comparison(*place, float(apart[order, name].max()), off, reason=reason)

    def _ours(self, client: onnxplain.Client, game: str) -> tuple[Vector, Vector]:
        is_path = game == PATH_DEPENDENT
        return ours(
            *(client, self.content, self.rows),
            explained=self.explained,
            background=range(self.counted) if is_path else self.background,
            perturbation="PATH_DEPENDENT" if is_path else "INTERVENTIONAL",
            scale="MARGIN" if self.is_margin else "RESPONSE",
        )

    def _reason(self, game: str, answer: Vector) -> str:
        """Return why an answer is not that of the judge, where it is not a wrong number."""
        if np.isnan(answer).any():
            return "not a number"
        return self.reasons.get(game, "") if answer.any() else "all zeros"

    def _right(
        self, game: str, predict: judge.Predict, judged: Sequence[int]
    ) -> tuple[Vector, Vector]:
        """Return values and interactions of some of the rows explained, by brute force."""
        rows, width = self.rows.to_numpy(), self.rows.shape[1]
        members = judge.coalitions(width)
        own = rows[[self.explained[place] for place in judged]]
        if game == PATH_DEPENDENT:
            trees = judge.Trees.read(self.content, rows[: self.counted])
            worths = [trees.worths(row, members) for row in own]
        else:
            background = rows[self.background]
            worths = [judge.interventional(predict, row, background, members) for row in own]
        values = np.array([judge.shapley(worth, width) for worth in worths])
        return values, np.array([judge.interactions(worth, width) for worth in worths])

    def _by_file(self, game: str, answer: Vector, order: int, judged: Sequence[int]) -> str:
        """Judge interventional values of ours by the predictions of the exported file."""
        if self.is_margin or game == PATH_DEPENDENT:
            return ""
        right = self._right(INTERVENTIONAL, partial(file_predictions, self.content), judged)
        off = np.abs(answer[judged] - right[order - 1]).max() / self.spread
        return "right for the file, which predicts otherwise" if off <= SAME else ""


def problem(table: Table, kind: str) -> Problem:
    """Train a model of a library on a table, and write it as ONNX."""
    model = fitted(kind, table)
    content = exported(model, table.rows.shape[1])
    is_margin = table.is_classified and "forest" not in kind
    reasons = {}
    if kind == "XGBoost" and table.is_classified:
        reasons[PATH_DEPENDENT] = "other definition: sums of hessians, not counts"
    trained = len(table.rows)
    return Problem(
        *(table.name, kind, model, content, table.rows, trained, is_margin), reasons=reasons
    )


def file_predictions(content: ModelProto, rows: judge.Rows) -> Vector:
    """Return what the exported file predicts, by onnxruntime: the last output, (n_rows,)."""
    session = onnxruntime.InferenceSession(content.SerializeToString())
    (given,) = session.get_inputs()
    answer = session.run(None, {given.name: rows.astype(np.float32)})[-1]
    return np.asarray(answer, dtype=np.float64)[:, -1]
