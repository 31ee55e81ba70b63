"""Socket to a process that is not believed: sending and receiving end at a request's deadline."""

from __future__ import annotations

import math
import socket
import time
from typing import Any

_LEAST_SECONDS = 0.001
"""Zero would make a socket that does not wait at all."""


class ClockedSocket(socket.socket):
    """Socket whose `sendall`, `recv` and `recv_into` raise TimeoutError at a deadline.

    A process that was taken over may send a byte and stop, or never read: a timeout for each call
    would begin anew with each byte.

    Parameters
    ----------
    end : socket
        Is taken over, and is closed with this one.
    deadline : float
        Monotonic time; may be infinite.

    Attributes
    ----------
    deadline : float
    """

    __slots__ = ("deadline",)

    def __init__(self, end: socket.socket, deadline: float) -> None:
        super().__init__(fileno=end.detach())
        self.deadline = deadline

    def sendall(self, *given: Any) -> None:
        """Send all, as a socket does."""
        self._set_timeout()
        super().sendall(*given)

    def recv(self, *given: Any) -> bytes:
        """Receive some bytes, as a socket does."""
        self._set_timeout()
        return super().recv(*given)

    def recv_into(self, *given: Any) -> int:
        """Receive some bytes into a buffer, as a socket does."""
        self._set_timeout()
        return super().recv_into(*given)

    def _set_timeout(self) -> None:
        if self.deadline < math.inf:
            self.settimeout(max(self.deadline - time.monotonic(), _LEAST_SECONDS))
