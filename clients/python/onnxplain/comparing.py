"""Calls `compare` of the clients: models and kept answers beside each other."""

from __future__ import annotations

from typing import Any, NamedTuple, Unpack

from onnxplain.errors import ShortTracebacks
from onnxplain.requests.arguments import RequestOptions
from onnxplain.requests.forms import Method
from onnxplain.requests.references import Reference, to_comparison_request
from onnxplain.results.explanations import Explanations
from onnxplain.transport.rpcs import COMPARE
from onnxplain.v1.explanation_service_pb2 import (
    CompareExplanationsRequest,
    CompareExplanationsResponse,
    ExplainResponse,
)


class ReferenceRequest(NamedTuple):
    """Model and table of which the reference is the answer."""

    model: Any
    table: Any


def reference_request(
    reference: Any, table: Any, reference_table: Any, methods: tuple[Method | str, ...]
) -> ReferenceRequest | None:
    """Return what is to be explained for a reference; None for a kept answer.

    Raises
    ------
    TypeError
        Where methods or a table are given beside a kept answer, or none beside a model.
    """
    if not isinstance(reference, Explanations | Reference):
        if not methods:
            raise TypeError("two models are compared by methods, such as Interactions(): name some")
        return ReferenceRequest(reference, table if reference_table is None else reference_table)
    if methods or reference_table is not None:
        raise TypeError("a kept answer has its methods and its table; leave them out")
    return None


def comparison_request(  # noqa: PLR0917 - the arguments of `compare`
    reference: Any,
    model: Any,
    table: Any,
    methods: tuple[Method | str, ...],
    reference_table: Any,
    options: RequestOptions,
) -> CompareExplanationsRequest | None:
    """Return the request to compare two kept answers; None where a model is to be explained.

    Raises
    ------
    TypeError
        Where a kept answer stands beside a model that is the reference, or beside arguments about
        an explanation.
    """
    if not isinstance(model, Explanations):
        return None
    if not isinstance(reference, Explanations | Reference):
        raise TypeError("a kept answer is the reference: give it first, and the model after it")
    given = methods or any(each is not None for each in (table, reference_table))
    if given or set(options) - {"plots"}:
        raise TypeError("two kept answers are compared as they are; leave all but plots out")
    return to_comparison_request(reference, model, options.get("plots", True))


def compared(model: Explanations, response: CompareExplanationsResponse) -> Explanations:
    """Return a kept answer with what has changed."""
    message = ExplainResponse()
    message.CopyFrom(model.message)
    message.comparison.CopyFrom(response.comparison)
    return Explanations(message)


class CompareCall:
    """Base of `Client`: the call `compare`."""

    # Long: most of it documents the parameters.
    def compare(
        self,
        reference: Any,
        model: Any,
        table: Any = None,
        /,
        *methods: Method | str,
        reference_table: Any = None,
        timeout: float | None = None,
        **options: Unpack[RequestOptions],
    ) -> Explanations:
        """Compare a model, or a kept answer, with a reference, and tell what has changed.

        Parameters
        ----------
        reference : Explanations, Reference, or a model
            A kept answer, made with `replicates=True`; or a model, which is explained first.
        model : Explanations, or as for `explain`
            Another kept answer, compared as it is; or a model, which is explained.
        table : as for `explain`
            Rows of a model; a kept answer needs none.
        *methods
            By which two models are compared; a kept answer has its own.
        reference_table : as `table`, optional
            Rows of a reference that is a model. Default: `table`.
        timeout : float, optional
            Seconds for each call. Default: the client's.
        **options
            As for `explain`; for two kept answers `plots` only.

        Returns
        -------
        Explanations
            Of the model; their `comparison` tells what has changed, and which rules of the
            reference hold.

        Examples
        --------
        >>> answer = client.compare("champion.onnx", "challenger.onnx", frame, "interactions")
        >>> answer.comparison.changed
        >>> rules = [{"statistic": "average_loss", "holds": "change <= 0.01"}]
        >>> client.compare(Reference(before, rules=rules), after).comparison.findings
        """
        __tracebackhide__ = True
        client: Any = self
        with ShortTracebacks():
            kept = comparison_request(reference, model, table, methods, reference_table, options)
            if kept is not None:
                return compared(model, client.messages.answer(COMPARE, kept, timeout=timeout))
            asked = reference_request(reference, table, reference_table, methods)
            every: Any = {**options, "timeout": timeout}
            if asked is not None:
                reference = client.explain(*asked, *methods, **{**every, "replicates": True})
            answer: Explanations = client.explain(model, table, reference=reference, **every)
            return answer


class AsyncCompareCall:
    """Base of `AsyncClient`: the call `compare`."""

    async def compare(
        self,
        reference: Any,
        model: Any,
        table: Any = None,
        /,
        *methods: Method | str,
        reference_table: Any = None,
        timeout: float | None = None,
        **options: Unpack[RequestOptions],
    ) -> Explanations:
        """Compare with a reference, and tell what has changed; see `Client.compare`."""
        __tracebackhide__ = True
        client: Any = self
        with ShortTracebacks():
            kept = comparison_request(reference, model, table, methods, reference_table, options)
            if kept is not None:
                response = await client.messages.answer(COMPARE, kept, timeout=timeout)
                return compared(model, response)
            asked = reference_request(reference, table, reference_table, methods)
            every: Any = {**options, "timeout": timeout}
            if asked is not None:
                reference = await client.explain(*asked, *methods, **{**every, "replicates": True})
            answer: Explanations = await client.explain(model, table, reference=reference, **every)
            return answer
