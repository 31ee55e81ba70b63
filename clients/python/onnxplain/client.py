"""Client for threads: one method per call of the service."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from types import TracebackType
from typing import Any, Unpack

import grpc

from onnxplain.comparing import CompareCall
from onnxplain.errors import ShortTracebacks
from onnxplain.events import StreamEvent, refuse_partial, to_stream_event
from onnxplain.progress import ProgressCallback, progress_callback
from onnxplain.requests import RequestOptions, to_request
from onnxplain.requests.arguments import ExplainCall
from onnxplain.requests.forms import Method
from onnxplain.requests.models import to_model, to_model_name
from onnxplain.results.explanations import Explanations
from onnxplain.results.plans import ExplanationPlan
from onnxplain.results.provenance import ModelDescription
from onnxplain.row_calls import RowCalls
from onnxplain.started import OperationsOfCaller
from onnxplain.tables import to_table
from onnxplain.transport.calls import Remote
from onnxplain.transport.connection import MESSAGE_LIMIT, RETRY_COUNT, Connection
from onnxplain.transport.messages import Messages
from onnxplain.transport.rpcs import DESCRIBE, PLAN
from onnxplain.transport.security import PathLike, Token, secure
from onnxplain.transport.uploads import File, ModelRef, TableRef, content_of, files_of
from onnxplain.v1.explanation_service_pb2 import DescribeModelRequest, ExplainRequest


# Long: most of it documents the parameters.
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
    """Make a client. Nothing is sent: an unreachable server shows at the first call.

    Parameters
    ----------
    endpoint : str
        Host and port of the server.
    token : str or callable () -> str, optional
        Bearer token. A callable is called before each attempt; it must be fast.
    tls : bool
        Whether to encrypt, and trust the default root certificates. Default: only with one of
        the files.
    ca_file : path, optional
        PEM of the root certificates to trust, instead of the default ones.
    certificate_file, key_file : path, optional
        PEM of this client's certificate and private key, for servers with mutual TLS.
    credentials : grpc.ChannelCredentials, optional
        Other credentials of grpc, instead of `tls` and the files.
    allow_unencrypted_token : bool
        Whether a token may leave this machine without TLS, as where a service mesh encrypts.
    timeout : float, optional
        Seconds for each call without a timeout of its own. Default: the server's limit.
    message_limit : int
        Largest request or response in bytes. Larger models and tables are uploaded in parts.
    retry_count : int
        Retries of a call where the server is unreachable or overloaded, within the timeout of the
        call. Pauses double from 0.05 to 0.1 s up to 1 to 2 s, so that 10 retries outlast a restart
        of the server: 6 to 13 s.

    Raises
    ------
    OSError, ValueError
        Where a file cannot be read, or arguments contradict each other; before anything is
        sent.

    Examples
    --------
    >>> with onnxplain.connect("localhost:8081", timeout=60) as client:
    ...     explanation = client.explain("model.onnx", frame, onnxplain.Interactions())

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


class Client(ExplainCall, CompareCall, RowCalls, OperationsOfCaller):
    """Client that threads can share; made by `connect` or `local`.

    Parameters
    ----------
    messages : Messages
        Closed with the client.

    Attributes
    ----------
    messages : Messages
        The same calls on messages of the contract.
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
        """Close the channel; running calls end."""
        self.messages.close()

    def _explain(
        self,
        request: ExplainRequest,
        files: Sequence[File],
        timeout: float | None,
        progress: ProgressCallback | bool,
    ) -> Explanations:
        refuse_partial(request)
        with progress_callback(progress) as callback:
            response = self.messages.explain(
                request, timeout=timeout, progress=callback, files=files
            )
        return Explanations(response)

    def explain_stream(
        self,
        model: Any,
        table: Any,
        *methods: Method | str,
        timeout: float | None = None,
        **request: Unpack[RequestOptions],
    ) -> Generator[StreamEvent]:
        """Explain a model and yield progress, and parts if asked for; the explanations come last.

        Takes the arguments of `explain`. Leaving the loop early cancels the computation.

        Examples
        --------
        >>> for event in client.explain_stream("model.onnx", frame, onnxplain.Interactions()):
        ...     print(event)
        """
        __tracebackhide__ = True
        with ShortTracebacks():
            columns = request.get("feature_columns", ())
            model = self._file_of(model, table, columns, timeout)
            message = to_request(model, table, *methods, **request)
            files = files_of(model, table)
            for event in self.messages.explain_stream(message, timeout=timeout, files=files):
                yield to_stream_event(event)

    def plan(
        self,
        model: Any,
        table: Any,
        *methods: Method | str,
        timeout: float | None = None,
        **request: Unpack[RequestOptions],
    ) -> ExplanationPlan:
        """Tell what an explanation would take, without computing it.

        Takes the arguments of `explain`.

        Examples
        --------
        >>> plan = client.plan("model.onnx", frame, onnxplain.Interactions())
        >>> plan.seconds, [saving.accuracy for saving in plan.savings]
        """
        __tracebackhide__ = True
        with ShortTracebacks():
            columns = request.get("feature_columns", ())
            model = self._file_of(model, table, columns, timeout)
            message = to_request(model, table, *methods, **request)
            refuse_partial(message)
            plan = self.messages.answer(
                PLAN, message, timeout=timeout, files=files_of(model, table)
            )
            return ExplanationPlan.from_message(plan)

    def describe(self, model: Any, *, timeout: float | None = None) -> ModelDescription:
        """Describe the inputs and outputs of a model.

        Examples
        --------
        >>> client.describe("model.onnx").output_names
        ('setosa', 'versicolor', 'virginica')
        """
        __tracebackhide__ = True
        with ShortTracebacks():
            request = DescribeModelRequest(model=to_model(model))
            response = self.messages.answer(
                DESCRIBE, request, timeout=timeout, files=files_of(model)
            )
            return ModelDescription.from_message(response.model)

    def upload_model(self, model: Any, *, timeout: float | None = None) -> ModelRef:
        """Upload a model, so that later calls need not send it.

        The reference takes the place of the model, and holds the bytes of the file: a call
        uploads it again where the server has evicted it.

        Examples
        --------
        >>> model = client.upload_model("model.onnx")
        >>> for frame in frames:
        ...     client.explain(model, frame, onnxplain.Interactions())
        """
        __tracebackhide__ = True
        with ShortTracebacks():
            file = to_model(model)
            uploaded = self.messages.upload(file, timeout=timeout)
            return ModelRef(uploaded, content_of(file), to_model_name("", model))

    def upload_table(
        self, table: Any, *, feature_columns: Sequence[str] = (), timeout: float | None = None
    ) -> TableRef:
        """Upload a table, likewise.

        Parameters
        ----------
        table : path, pandas or polars frame, Arrow table, mapping, 2-D array, ...
            See `onnxplain.tables.to_table`.
        feature_columns : sequence of str
            For an array: the names of its columns.
        timeout : float, optional
            Seconds. Default: the client's.
        """
        __tracebackhide__ = True
        with ShortTracebacks():
            file = to_table(table, feature_columns)
            uploaded = self.messages.upload(file, timeout=timeout)
            return TableRef(uploaded, content_of(file), str(file.WhichOneof("source")))

    def health(self, service: str = "", *, timeout: float | None = None) -> str:
        """Return the health of the server: "SERVING", or "NOT_SERVING" while it stops.

        Parameters
        ----------
        service : str
            Full name of a service, or empty for the server as a whole.
        timeout : float, optional
            Seconds. Default: the client's.
        """
        __tracebackhide__ = True
        with ShortTracebacks():
            return self.messages.health(service, timeout=timeout)
