"""Calls `compare` of the clients: a model beside a kept answer, or beside another model."""

from __future__ import annotations

from typing import Any, NamedTuple, Unpack

from onnxplain.errors import ShortTracebacks
from onnxplain.requests.arguments import RequestOptions
from onnxplain.requests.forms import Method
from onnxplain.requests.references import Reference
from onnxplain.results.explanations import Explanations


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


class CompareCall:
    """Base of `Client`: the call `compare`."""

    # Long: most of it documents the parameters.
    def compare(
        self,
        reference: Any,
        model: Any,
        table: Any,
        /,
        *methods: Method | str,
        reference_table: Any = None,
        **options: Unpack[RequestOptions],
    ) -> Explanations:
        """Explain a model beside a reference, and tell what has changed.

        Parameters
        ----------
        reference : Explanations, Reference, or a model
            A kept answer, made with `replicates=True`; or a model, which is explained first.
        model, table
            As for `explain`.
        *methods
            By which two models are compared; a kept answer has its own.
        reference_table : as `table`, optional
            Rows of a reference that is a model. Default: `table`.
        **options
            As for `explain`.

        Returns
        -------
        Explanations
            Of the model; their `comparison` tells what has changed.

        Examples
        --------
        >>> answer = client.compare("champion.onnx", "challenger.onnx", frame, "interactions")
        >>> answer.comparison.changed
        """
        __tracebackhide__ = True
        client: Any = self
        with ShortTracebacks():
            asked = reference_request(reference, table, reference_table, methods)
            if asked is not None:
                own: Any = {**options, "replicates": True}
                reference = client.explain(*asked, *methods, **own)
            compared: Any = {**options, "reference": reference}
            answer: Explanations = client.explain(model, table, **compared)
            return answer


class AsyncCompareCall:
    """Base of `AsyncClient`: the call `compare`."""

    async def compare(
        self,
        reference: Any,
        model: Any,
        table: Any,
        /,
        *methods: Method | str,
        reference_table: Any = None,
        **options: Unpack[RequestOptions],
    ) -> Explanations:
        """Explain a model beside a reference, and tell what has changed; see `Client.compare`."""
        __tracebackhide__ = True
        client: Any = self
        with ShortTracebacks():
            asked = reference_request(reference, table, reference_table, methods)
            if asked is not None:
                own: Any = {**options, "replicates": True}
                reference = await client.explain(*asked, *methods, **own)
            compared: Any = {**options, "reference": reference}
            answer: Explanations = await client.explain(model, table, **compared)
            return answer
