"""Memory of what timing decided: equal requests get equal answers while the cache has it.

Rows that a trial on the clock chose are part of an answer. Without this, a request that is sent
again, or resumed after a fault, would choose others and find none of its numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from onnxplain_server.core.arrays import Vector, pack, unpack
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.single_flight_key import digest_of


def remembered(
    request: BoundRequest, kind: str, count: int, compute: Callable[[], Vector]
) -> Vector:
    """Return numbers that an equal request stored in the cache, or compute and store them.

    Parameters
    ----------
    request : BoundRequest
        The cache is its caller's, model's and table's.
    kind : str
        What the numbers are.
    count : int
        Length of the numbers.
    """
    question = replace(request.question, plots=True, model_name="")
    name = digest_of((kind, question))
    (packed,) = request.host.cache_get([name])
    numbers = None if packed is None else unpack(packed, (count,))
    if numbers is None:
        numbers = compute()
        request.host.cache_put({name: pack(numbers)})
    return numbers
