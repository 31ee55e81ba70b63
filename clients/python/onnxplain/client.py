"""The client: one method per call of the service."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from types import TracebackType
from typing import Any, Unpack

import grpc

from onnxplain.progress import Progress, ProgressCallback, follow
from onnxplain.requests.arguments import Engine, RequestOptions, Scale, to_request
from onnxplain.requests.methods import Method
from onnxplain.requests.models import to_model
from onnxplain.results.explanations import Explanations
from onnxplain.results.provenance import ModelDescription
from onnxplain.tables import to_table
from onnxplain.transport.calls import Messages, Remote
from onnxplain.transport.connection import MESSAGE_LIMIT, RETRY_COUNT, Connection
from onnxplain.transport.security import PathLike, Token, secure
from onnxplain.transport.uploads import ModelRef, TableRef, content_of, files_of
from onnxplain.v1.explanation_service_pb2 import DescribeModelRequest


def connect(
    endpoint: str = "localhost:8081",
    *,
    token: Token | None = None,
    tls: bool = False,
    ca_file: PathLike | None = None,
    certificate_file: PathLike | None = None,
    key_file: PathLike | None = None,
    credentials: grpc.ChannelCredentials | None = None,
    allow_unencrypted_token: bool = False,
    timeout: float | None = None,
    message_limit: int = MESSAGE_LIMIT,
    retry_count: int = RETRY_COUNT,
) -> Client:
    """Make a client. Nothing is sent yet: a server that is missing shows at the first call.

    Parameters
    ----------
    endpoint : str
        Host and port of the server.
    token : str or callable () -> str, optional
        Shows who calls, as a bearer token. A callable is asked before each attempt, and returns
        the token of the moment, quickly.
    tls : bool
        Whether to encrypt, trusting the usual authorities. Default: only with one of the files.
    ca_file : path, optional
        PEM of the authorities that sign the server's certificate, instead of the usual ones.
    certificate_file, key_file : path, optional
        PEM of this client's certificate and its private key, for servers that know their
        callers by them.
    credentials : grpc.ChannelCredentials, optional
        What grpc has besides, instead of `tls` and the files.
    allow_unencrypted_token : bool
        Whether a token may leave this machine without TLS: where a mesh encrypts on the way.
    timeout : float, optional
        Seconds for each call that names no other. Default: the server's limit.
    message_limit : int
        Bytes that a request or an answer may have. Models and tables beyond it are uploaded
        in parts.
    retry_count : int
        How often a call is made again where nobody answers, or where the server says that it
        has too much to do; with growing pauses, within the time of the call.

    Raises
    ------
    OSError, ValueError
        Where a file cannot be read, or what is given does not fit together; before anything
        is sent.

    Examples
    --------
    >>> with onnxplain.connect("localhost:8081", timeout=60) as client:
    ...     found = client.explain("model.onnx", frame, onnxplain.Interactions())

    >>> client = onnxplain.connect("explain.example:443", tls=True, token=os.environ["TOKEN"])
    """
    security = secure(
        endpoint,
        credentials=credentials,
        token=token,
        tls=tls,
        ca_file=ca_file,
        certificate_file=certificate_file,
        key_file=key_file,
        allow_unencrypted_token=allow_unencrypted_token,
    )
    connection = Connection(endpoint, timeout, message_limit, retry_count, security)
    return Client(Remote(connection.open(grpc), connection))


class Client:
    """Explains models; threads can share it. Use `connect` or `local` to make one.

    Parameters
    ----------
    messages : Messages
        Closed with the client.

    Attributes
    ----------
    messages : Messages
        The same calls with the contract's messages as they are.
    """

    def __init__(self, messages: Messages) -> None:
        self.messages = messages

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection; running calls end."""
        self.messages.close()

    def explain(
        self,
        model: Any,
        table: Any,
        *methods: Method,
        feature_columns: Sequence[str] = (),
        target_column: str = "",
        weight_column: str = "",
        output_indices: Sequence[int] = (),
        scale: Scale | None = None,
        engine: Engine | None = None,
        row_count: int | None = None,
        seed: int | None = None,
        class_labels: Sequence[str | float] = (),
        plots: bool = True,
        allow_inconsistent_model: bool = False,
        timeout: float | None = None,
        progress: ProgressCallback | bool | None = None,
    ) -> Explanations:
        """Explain a model on the rows of a table.

        Parameters
        ----------
        model : path, bytes, onnx.ModelProto, or what `upload_model` returned
            None for sequences that bring weights.
        table : path, pandas or polars frame, Arrow table, mapping, 2-D array, ...
            See `onnxplain.tables.to_table`; or what `upload_table` returned. None for methods
            that need none.
        *methods : Interactions, PartialDependence, PermutationImportance, ...
            At least one; they share the rows and the predictions.
        feature_columns : sequence of str
            For a model that takes one matrix: the columns it is fed. Default: those that the
            model names (`feature_names` of its description); where it names none, every column
            but target and weight, in table order, with the warning COLUMNS_BY_POSITION. For an
            array: the names of its columns.
        target_column, weight_column : str
            Columns with the true values and the case weights.
        output_indices : sequence of int
            Prediction columns to explain, from 0. Default: all.
        scale : "RESPONSE" or "MARGIN", optional
            The model's answer, the default, or the additive score before it.
        engine : "TREES" or "BLACK_BOX", optional
            What computes the effects: counts in the leaves of trees, or predictions. Default:
            chosen for the model.
        row_count, seed : int, optional
            How many rows to draw, and the seed of the draw, 0 by default. Default: what each
            method can afford, from 500 to all; each result tells its own in `rows`.
        class_labels : sequence of str or number
            The target's classes, as it has them, in the order of the model's outputs; for a model
            with one output, two, the negative first. Default: each class is the output of the
            same name or number.
        plots : bool
            Whether plots return with the results.
        allow_inconsistent_model : bool
            Whether to explain a model that answers the same row differently, with a warning;
            otherwise it is refused.
        timeout : float, optional
            Seconds. Default: the client's.
        progress : bool or callable (done, planned), optional
            True shows a bar, in a terminal or a notebook. A callable is told how many rows are
            predicted, of how many at most.

        Raises
        ------
        ExplainError
            Where the server refuses, or does not answer.
        OSError, TypeError, ValueError
            Where model, table or options cannot be read.

        Examples
        --------
        >>> client.explain(
        ...     "model.onnx",
        ...     frame,
        ...     onnxplain.Interactions(pairwise_feature_count=3),
        ...     onnxplain.PartialDependence(features=["age", ("age", "bmi")]),
        ...     target_column="charges",
        ... )
        """
        request = to_request(
            model,
            table,
            *methods,
            feature_columns=feature_columns,
            target_column=target_column,
            weight_column=weight_column,
            output_indices=output_indices,
            scale=scale,
            engine=engine,
            row_count=row_count,
            seed=seed,
            class_labels=class_labels,
            plots=plots,
            allow_inconsistent_model=allow_inconsistent_model,
        )
        files = files_of(model, table)
        with follow(progress) as tell:
            answer = self.messages.explain(request, timeout=timeout, progress=tell, files=files)
        return Explanations(answer)

    def explain_stream(
        self,
        model: Any,
        table: Any,
        *methods: Method,
        timeout: float | None = None,
        **request: Unpack[RequestOptions],
    ) -> Generator[Progress | Explanations]:
        """Explain a model, with progress on the way; the explanations come last.

        Takes the arguments of `explain`. Leaving the loop early cancels the computation.

        Examples
        --------
        >>> for event in client.explain_stream("model.onnx", frame, onnxplain.Interactions()):
        ...     print(event)
        """
        message = to_request(model, table, *methods, **request)
        files = files_of(model, table)
        for event in self.messages.explain_stream(message, timeout=timeout, files=files):
            if event.HasField("response"):
                yield Explanations(event.response)
            else:
                yield Progress(event.progress.done, event.progress.planned)

    def describe(self, model: Any, *, timeout: float | None = None) -> ModelDescription:
        """Tell what a model takes and gives.

        Examples
        --------
        >>> client.describe("model.onnx").output_names
        ('setosa', 'versicolor', 'virginica')
        """
        request = DescribeModelRequest(model=to_model(model))
        answer = self.messages.describe(request, timeout=timeout, files=files_of(model))
        return ModelDescription.from_message(answer.model)

    def upload_model(self, model: Any, *, timeout: float | None = None) -> ModelRef:
        """Have the server keep a model, so that later calls need not send it.

        What it returns goes in place of the model, and holds the bytes of the file: where the
        server has the model no longer, the call uploads it again.

        Examples
        --------
        >>> model = client.upload_model("model.onnx")
        >>> for frame in frames:
        ...     client.explain(model, frame, onnxplain.Interactions())
        """
        file = to_model(model)
        return ModelRef(self.messages.upload(file, timeout=timeout), content_of(file))

    def upload_table(
        self, table: Any, *, feature_columns: Sequence[str] = (), timeout: float | None = None
    ) -> TableRef:
        """Have the server keep a table, likewise.

        Parameters
        ----------
        table : path, pandas or polars frame, Arrow table, mapping, 2-D array, ...
            See `onnxplain.tables.to_table`.
        feature_columns : sequence of str
            For an array: the names of its columns.
        timeout : float, optional
            Seconds. Default: the client's.
        """
        file = to_table(table, feature_columns)
        uploaded = self.messages.upload(file, timeout=timeout)
        return TableRef(uploaded, content_of(file), str(file.WhichOneof("source")))

    def health(self, service: str = "", *, timeout: float | None = None) -> str:
        """Return the server's own verdict: "SERVING", or "NOT_SERVING" while it stops.

        Parameters
        ----------
        service : str
            Full name of a service, or empty for the server as a whole.
        timeout : float, optional
            Seconds. Default: the client's.
        """
        return self.messages.health(service, timeout=timeout)
