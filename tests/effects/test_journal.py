"""Journal of unfinished work: what the next attempt finds of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import pytest
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.recording import journal
from onnxplain_server.effects.recording.journal import Journal, digest


class Slots:
    """Host that keeps values in the order in which they came, and loses some."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.reads = 0

    def advance(self, done: float, planned: float) -> None:
        """Go on."""

    def single_flight(self, _name: str) -> AbstractContextManager[bool]:
        return nullcontext(enter_result=True)

    def cache_get(self, names: Sequence[str]) -> Sequence[bytes | None]:
        self.reads += 1
        return [self.values.get(name) for name in names]

    def cache_put(self, entries: Mapping[str, bytes]) -> None:
        self.values |= entries


def key(number: int) -> bytes:
    return digest([bytes([number])])


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Slots:
    """Have the slots of an attempt that recorded 60 numbers, each in a slot of its own."""
    monkeypatch.setattr(journal, "_SECONDS_BETWEEN_WRITES", 0.0)
    found = Slots()
    first = Journal(Ledger(found), "scope")
    for number in range(60):
        first.put(key(number), np.array([float(number)]))
    assert len(found.values) == 60
    return found


@pytest.mark.parametrize("lost", [range(0), range(1), range(12), range(5, 25), range(55, 60)])
def test_slots_that_were_not_written_hide_no_others(host: Slots, lost: range) -> None:
    """As those of some seconds in which Redis was left out."""
    names = [*host.values]
    for number in lost:
        del host.values[names[number]]
    second = Journal(Ledger(host), "scope")
    found = [second.get(key(number)) for number in range(60)]

    expected = set(range(60)) - set(lost)
    assert {number for number, values in enumerate(found) if values is not None} == expected
    assert all(values == [number] for number, values in enumerate(found) if values is not None)


def test_a_journal_without_slots_costs_one_read() -> None:
    host = Slots()
    assert not Journal(Ledger(host), "scope").has_records
    assert host.reads == 1


def test_missing_slots_are_written_first(host: Slots) -> None:
    names = [*host.values]
    del host.values[names[7]]
    second = Journal(Ledger(host), "scope")
    second.put(key(100), np.array([100.0]))

    assert names[7] in host.values
    third = Journal(Ledger(host), "scope")
    assert third.get(key(100)) == [100.0]
    assert third.get(key(8)) == [8.0]
