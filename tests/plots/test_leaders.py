"""Leaders: the largest number, those within its error, and those that are written alike."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.plots.claims.leaders import leaders
from onnxplain_server.plots.elements.number_formats import spell_beside

SIZE = st.sampled_from([np.nan, -0.2, 0.0, 0.2, 0.49999, 0.5, 0.500001])


def test_numbers_that_are_written_alike_lead_together() -> None:
    assert leaders(np.array([0.2, 0.5, 0.500001, np.nan, 0.5])) == [2, 1, 4]


@given(st.lists(SIZE, max_size=6), st.sampled_from([0.0, 0.001, 0.2]))
def test_leaders_are_those_that_cannot_be_told_from_the_largest(sizes, error) -> None:
    values, errors = np.array(sizes), np.resize([error, 0.0], len(sizes))
    found = leaders(values, errors)
    if not found:
        known = values[np.isfinite(values)]
        assert not known.size or known.max() <= 2 * error
        return
    beside, first = values[np.isfinite(values)], found[0]
    spread = 2 * np.hypot(errors, errors[first])

    def is_leading(at: int) -> bool:
        near = values[at] >= values[first] - spread[at]
        return near or spell_beside(values[at], beside) == spell_beside(values[first], beside)

    expected = [at for at in range(len(values)) if np.isfinite(values[at]) and is_leading(at)]
    assert sorted(found) == expected
    assert [values[at] for at in found] == sorted(values[found], reverse=True)
