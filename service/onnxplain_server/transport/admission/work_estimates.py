"""Estimates of the work of requests: moving averages of the seconds that earlier ones took.

They are learnt from requests that resemble each other: the same question about as large files, or
the same methods and model at about the same size, or else any of the same caller.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from onnxplain_server.transport.admission.admission import CallerKey

SHORT_SECONDS = 1.0
"""Most seconds of short work, which long work must not hold up."""

_PRIOR_SECONDS = 0.1
_ENTRY_LIMIT = 4_096
_NEWEST_SHARE = 0.25
"""Share of the newest measurement in a moving average."""


@dataclass(frozen=True, slots=True)
class WorkKey:
    """Key of a request's work: facts that are known before it is decoded.

    Attributes
    ----------
    caller : CallerKey
    kind : str
        Method of the service.
    byte_count : int
        Size of the message or body.
    methods : tuple of str
        Names of the methods that are asked for, where they can be read.
    model : str
        Id of an uploaded model, where it can be read.
    question : bytes
        Digest of the request besides its files, where that can be read.
    """

    caller: CallerKey
    kind: str
    byte_count: int = 0
    methods: tuple[str, ...] = ()
    model: str = ""
    question: bytes = b""

    def levels(self) -> Iterator[Hashable]:
        """Yield names of ever larger groups of requests that this one resembles."""
        yield self
        yield self.caller, self.kind, self.byte_count.bit_length(), self.methods, self.model
        yield self.caller, self.kind


class Estimate(NamedTuple):
    """Estimate of a request's work.

    Attributes
    ----------
    seconds : float
        Of a slot.
    is_measured : bool
        Whether requests like it have been measured.
    """

    seconds: float
    is_measured: bool

    @property
    def is_short(self) -> bool:
        """Return whether it is short, as far as it is known."""
        return self.seconds <= SHORT_SECONDS


class WorkEstimates:
    """Moving averages by `WorkKey.levels`, of those that were used last; thread-safe."""

    def __init__(self) -> None:
        self._means: OrderedDict[Hashable, float] = OrderedDict()
        self._lock = threading.Lock()

    def expect(self, key: WorkKey) -> Estimate:
        """Estimate the work of a request.

        What resembles nothing but its caller's other requests counts as short: it is refused for
        its own work only once that is known.
        """
        *alike, of_caller = key.levels()
        with self._lock:
            for level in alike:
                if (mean := self._means.get(level)) is not None:
                    return Estimate(mean, is_measured=True)
            mean = self._means.get(of_caller, _PRIOR_SECONDS)
        return Estimate(min(mean, SHORT_SECONDS), is_measured=False)

    def learn(self, key: WorkKey, seconds: float) -> None:
        """Count a measurement."""
        with self._lock:
            for level in key.levels():
                mean = self._means.get(level, seconds)
                self._means[level] = mean + _NEWEST_SHARE * (seconds - mean)
                self._means.move_to_end(level)
            while len(self._means) > _ENTRY_LIMIT:
                self._means.popitem(last=False)
