"""Load shedding: which waiting request makes room for one of a caller that has less."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection

from onnxplain_server.transport.admission.admission import CallerKey
from onnxplain_server.transport.admission.ticket import Ticket


def count_one(_ticket: Ticket) -> float:
    """Weigh all requests alike."""
    return 1.0


def find_victim(
    ticket: Ticket, others: Collection[Ticket], weigh: Callable[[Ticket], float]
) -> Ticket | None:
    """Return the newest request of the caller with most, if it has more than this one even then.

    Parameters
    ----------
    ticket : Ticket
        Of the request that needs room.
    others : collection of Ticket
        In the order of their arrival.
    weigh : callable (Ticket) -> float
        Amount of what is limited.
    """
    held: defaultdict[CallerKey, float] = defaultdict(float)
    for each in others:
        held[each.caller_key] += weigh(each)
    needed = held[ticket.caller_key] + weigh(ticket)
    candidates = [
        each
        for each in others
        if each.is_sheddable and held[each.caller_key] - weigh(each) >= needed
    ]
    return max(reversed(candidates), key=lambda each: held[each.caller_key], default=None)
