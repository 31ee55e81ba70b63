"""Remote model of one request: opened, tried on probe rows, watched until the answer is there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NoReturn

import numpy as np
from onnxplain.v1.explanation_service_pb2 import RemoteModelReceipt

from onnxplain_server.adapters.runner.consistency_sample import consistency_sample
from onnxplain_server.adapters.runner.remote.answers import (
    differing_rows,
    digest_of,
    score_classes,
)
from onnxplain_server.adapters.runner.remote.call_slots import CallSlots
from onnxplain_server.adapters.runner.remote.guarded_host import GuardedHost
from onnxplain_server.adapters.runner.remote.model import RemoteModel
from onnxplain_server.adapters.runner.remote.named_remote import NamedRemote
from onnxplain_server.adapters.runner.remote.network_batch_size import NetworkBatchSize
from onnxplain_server.adapters.runner.remote.probes import Probes, made_up
from onnxplain_server.core.arrays import Array, pack, unpack
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import ComputationHost
from onnxplain_server.core.model import Description, Input, Note, Scale, distinct_names
from onnxplain_server.core.remote.listing import not_listed
from onnxplain_server.core.remote.models import UNTOLD, RemoteAddress, RemoteModels
from onnxplain_server.core.rows import feeds
from onnxplain_server.core.sources import FetchControl
from onnxplain_server.core.warnings import InputWarning
from onnxplain_server.explain import BoundTable

MARGIN_REFUSAL = "a remote model gives its answers, and no score before them"
_INPUTS = "model.remote.inputs"
_OF_INPUTS = {Reason.PREDICTION_FAILED, Reason.WRONG_TYPE}
_NOT_CACHED = "The numbers hold for this computation only, and none of them were cached."


def no_remote_models(_address: RemoteAddress, _control: FetchControl) -> NoReturn:
    """Refuse remote models: this installation lists none."""
    raise not_listed()


class OpenedRemote:
    """Remote model of a request.

    Parameters
    ----------
    named : NamedRemote
    remotes : RemoteModels
        Opens it.
    host : ComputationHost
        Of the request.
    scale : Scale
        Of the predictions: RESPONSE.

    Raises
    ------
    ExplainError
        MARGIN_UNAVAILABLE; those of `RemoteModels` and of `RemotePredictions.describe`.

    Attributes
    ----------
    host : GuardedHost
        In place of the request's.
    model : RemoteModel
    batch_size : NetworkBatchSize
    threads : ThreadPoolExecutor
        More than calls at a time; see `CallSlots`.
    """

    def __init__(
        self, named: NamedRemote, remotes: RemoteModels, host: ComputationHost, scale: Scale
    ) -> None:
        if scale is Scale.MARGIN:
            raise ExplainError(Reason.MARGIN_UNAVAILABLE, MARGIN_REFUSAL, "scale")
        self.host = GuardedHost(host)
        self._named = named
        self._calls = remotes(named.address, self.host)
        self._told = self._calls.describe()
        slots = CallSlots(max(1, self._calls.call_count))
        self.model = RemoteModel(self._calls, slots, _checked_inputs(self._told.inputs))
        self.batch_size = NetworkBatchSize(self._calls.row_limit, slots)
        self.threads = ThreadPoolExecutor(slots.thread_count, thread_name_prefix="remote model")
        self._probes: Probes | None = None
        self._answers = np.zeros((0, 0))

    def try_rows(self, table: BoundTable | None) -> None:
        """Ask for probe rows: outputs, consistency, identity; guard the cache by their answers.

        Raises
        ------
        ExplainError
            Those of the table, and of `Probes.ask`; INVALID_REQUEST without a table and inputs.
        """
        with _told(self._told.inputs):
            self._probes = probes = self._rows_of(table)
            self._answers = probes.ask(self.model)
        names = self._output_names(self._answers.shape[1])
        self.model.named(names, has_class_scores=score_classes(self._answers))
        scope = self._known_scope(probes)
        if scope is None:
            scope = self._new_scope(probes)
        self.host.guard(scope, lambda: probes.check_unchanged(self.model, self._answers))
        if self.model.inconsistency:
            note = f"{self.model.inconsistency} {_NOT_CACHED}"
            self.model.notes += (Note(InputWarning.INCONSISTENT_MODEL, note),)
            self.host.abandon()

    def finish(self) -> None:
        """Check that the model is still the same, and cache its numbers."""
        self.host.settle()

    def close(self) -> None:
        """End the threads, which have nothing left to do."""
        self.threads.shutdown()

    def description(self) -> Description:
        """Describe inputs and outputs, as its server tells and as probe rows showed."""
        model = self.model
        return Description(
            digest="",
            inputs=model.inputs,
            output_names=model.output_names,
            margin_refusal=MARGIN_REFUSAL,
            operators=(),
            producer=self._told.platform,
            has_class_scores=model.has_class_scores,
            is_binary=model.is_binary,
        )

    def describe(self) -> Description:
        """Describe it without a table: made-up rows show its outputs, unless it refuses them.

        Raises
        ------
        ExplainError
            PREDICTION_FAILED if these are refused, and nobody else tells the outputs.
        """
        try:
            self.try_rows(None)
        except ExplainError as error:
            names = self._named.address.output_names or self._told.output_names
            if error.reason is not Reason.PREDICTION_FAILED or not names:
                raise
            self.model.named(names, has_class_scores=False)
        return self.description()

    def receipt(self) -> RemoteModelReceipt:
        """Tell what was asked."""
        address = self._named.address
        return RemoteModelReceipt(
            uri=address.uri,
            protocol=address.protocol,
            name=address.name,
            version=address.version or self._told.version,
            identity=self._named.identity,
            probe_digest=digest_of(self._answers) if len(self._answers) else "",
            platform=self._told.platform,
        )

    def _rows_of(self, table: BoundTable | None) -> Probes:
        if table is None:
            _check_told(self.model.inputs)
            return made_up(self.model.inputs)
        sample = consistency_sample(table)
        return Probes(feeds(table.features, sample.columns), sample.source)

    def _output_names(self, count: int) -> tuple[str, ...]:
        """Name the columns: as the caller does, or the server, or by numbers.

        Raises
        ------
        ExplainError
            INVALID_REQUEST for another number of names than of columns.
        """
        given = self._named.address.output_names
        if given and len(given) != count:
            raise ExplainError(
                Reason.INVALID_REQUEST,
                f"output_names has {len(given)} names, and the model answers {count} columns",
                "model.remote.output_names",
            )
        told = distinct_names(self._told.output_names)
        return given or (told if len(told) == count else tuple(map(str, range(count))))

    def _known_scope(self, probes: Probes) -> str | None:
        """Return the scope that an earlier request found for these answers; None for others."""
        if not self._named.identity:
            return None
        kept = self._kept(probes)
        if kept is None:
            return None
        if differing_rows(self._answers, kept, same_call=True):
            self.model.notes += (self._replaced_note(),)
            return None
        self._answers = kept  # whose digest names the cached numbers
        return self._scope()

    def _new_scope(self, probes: Probes) -> str:
        """Check the consistency of a model that is new here; return its scope, empty for none."""
        self.model.inconsistency = probes.inconsistency(self.model, self._answers, self.threads)
        if self.model.inconsistency or not self._named.identity:
            return ""
        self.host.probes_put(self._identity(probes), pack(self._answers.astype(np.float64)))
        return self._scope()

    def _kept(self, probes: Probes) -> Array | None:
        packed = self.host.probes_get(self._identity(probes))
        return None if packed is None else unpack(packed, self._answers.shape)

    def _identity(self, probes: Probes) -> str:
        """Name what the caller vouches for, and the rows that it is tried on."""
        rows = hashlib.sha256()
        for name in sorted(probes.feeds):
            values = probes.feeds[name]
            rows.update(repr((name, str(values.dtype), values.shape, values.tolist())).encode())
        return f"{self._stated()}\n{rows.hexdigest()}"

    def _scope(self) -> str:
        return f"{self._stated()}\n{digest_of(self._answers)}"

    def _stated(self) -> str:
        return repr((self._named, self.model.inputs, self.model.output_names))

    def _replaced_note(self) -> Note:
        return Note(
            InputWarning.REMOTE_MODEL_REPLACED,
            f'Under the identity "{self._named.identity}", the model gave other answers to rows '
            "of this table in an earlier request, so it is another one now. Nothing of the earlier "
            "numbers was used; state another identity for another model.",
        )


@contextmanager
def _told(inputs: tuple[Input, ...]) -> Iterator[None]:
    """Add to an error of rows or values that the inputs are assumed, where they are."""
    try:
        yield
    except ExplainError as error:
        if UNTOLD not in inputs or error.reason not in _OF_INPUTS:
            raise
        message = (
            f"{UNTOLD.doubt}, and the columns of the table in one matrix of numbers do not fit it. "
            f"List what it takes: {error.message}"
        )
        raise ExplainError(error.reason, message, _INPUTS) from error


def _check_told(inputs: tuple[Input, ...]) -> None:
    """Raise INVALID_REQUEST where nothing tells how many columns the model takes."""
    if UNTOLD in inputs:
        message = f"{UNTOLD.doubt}: list them, or give a table whose columns it takes"
        raise ExplainError(Reason.INVALID_REQUEST, message, _INPUTS)


def _checked_inputs(inputs: tuple[Input, ...]) -> tuple[Input, ...]:
    """Return inputs; raise REMOTE_MODEL_ANSWER where the server tells none."""
    if inputs:
        return inputs
    raise ExplainError(
        Reason.REMOTE_MODEL_ANSWER,
        "the server of the model does not tell what it takes; list its inputs",
        _INPUTS,
    )
