"""Planned time of attributions on trees behind a link: by the rows explained, timed on a few."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from onnxplain_server.explain.methods import attributions
from onnxplain_server.methods.attributions import Options


def asked(*, is_exact: bool = False, predicts: bool = False) -> Any:
    """A request on trees with 500 rows."""
    effects = SimpleNamespace(exact_attributions=lambda: object() if is_exact else None)
    return SimpleNamespace(
        choice=SimpleNamespace(predicts=predicts),
        effects=effects,
        sample=SimpleNamespace(rows=np.arange(500)),
        trial=lambda rows, _number: rows,
    )


def job(options: Options) -> Any:
    return SimpleNamespace(options=options, rows=SimpleNamespace(drawn=400))


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (Options(explained_row_count=100), 100),
        (Options(explained_row_count=9_000), 500),
        (Options(row_indices=tuple(range(7))), 7),
    ],
)
def test_time_is_that_of_one_row_and_of_each_further_one(
    monkeypatch, options: Options, count: int
) -> None:
    def timed(background: int, own: Options) -> float:
        assert background == 400  # all of it: further rows explained take none of its time
        return 3.0 + 0.5 * (len(own.row_indices) or own.explained_row_count)

    monkeypatch.setattr(attributions, "_seconds_of", timed)

    seconds = attributions.PREPARATION.seconds(asked(), job(options))

    assert seconds == pytest.approx(3.0 + 0.5 * count)


@pytest.mark.parametrize("given", [{"is_exact": True}, {"predicts": True}])
def test_other_values_are_timed_by_trials_on_few_rows(given: dict[str, bool]) -> None:
    assert attributions.PREPARATION.seconds(asked(**given), job(Options())) is None
