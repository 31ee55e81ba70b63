"""Decoders: whatever bytes arrive, they answer or refuse. `make fuzz` looks for long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seeds import corpus
from targets import TARGETS

SEEDS = corpus()


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_read_or_refused(name: str) -> None:
    for seed in SEEDS[name]:
        TARGETS[name](seed)


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.data())
def test_any_bytes_are_read_or_refused(name: str, data: st.DataObject) -> None:
    TARGETS[name](data.draw(st.binary(max_size=60)))


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.data())
def test_seeds_with_changed_bytes_are_read_or_refused(name: str, data: st.DataObject) -> None:
    seeds = st.sampled_from([seed for seed in SEEDS[name] if seed])
    changed = bytearray(data.draw(seeds))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(changed) - 1))
        changed[place] = data.draw(st.integers(0, 255))
    del changed[data.draw(st.integers(1, len(changed))) :]
    TARGETS[name](bytes(changed))
