"""Models behind addresses, in place of a model: a server asks them for predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from onnxplain.v1 import model_pb2

RemoteProtocol: TypeAlias = Literal["OIP_REST", "OIP_GRPC", "KSERVE_V1", "MLFLOW"]
"""How a server of models is asked.

- "OIP_REST": Open Inference Protocol 2 over REST: KServe, MLServer, Triton, OpenVINO.
- "OIP_GRPC": Open Inference Protocol 2 over gRPC.
- "KSERVE_V1": KServe's first protocol, with `instances`.
- "MLFLOW": MLflow's scoring server, with `dataframe_split`.
"""


@dataclass(frozen=True, slots=True)
class RemoteInput:
    """One input of a remote model.

    Attributes
    ----------
    name : str
        Of the input; for models with one input per column, of the column too.
    type : str
        Element type as ONNX names it: "float", "double", "int64", "bool", "string", ...
    columns : sequence of str
        Names of its columns, in their order; empty for an input of one column.
    """

    name: str
    type: str = "double"
    columns: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """Model behind an address; see `RemoteModel` of the contract.

    Attributes
    ----------
    uri : str
        Of its server: "http://HOST:PORT", "https://..."; for OIP_GRPC "grpc://HOST:PORT" or
        "grpcs://...". Without user and password: credentials are the operator's.
    name : str
        Of the model at its server; empty for MLFLOW, whose server has one.
    protocol : "OIP_REST", "OIP_GRPC", "KSERVE_V1" or "MLFLOW"
    version : str
        Where its server has several; empty: the server's choice.
    inputs : sequence of RemoteInput, or mapping of column to type
        What it takes, in its order; empty: what its server tells, else the features of the table
        in one matrix of double.
    output : str
        Tensor, or field of the answer, with the predictions; empty: the only one.
    output_names : sequence of str
        Of the prediction columns, as of classes; empty: what its server tells, or numbers.
    identity : str
        What you vouch for: of equal identity, address, name and version, the model is the same,
        and its numbers are cached. Empty: the version; without both, nothing is cached.
    """

    uri: str
    name: str = ""
    protocol: RemoteProtocol = "OIP_REST"
    version: str = ""
    inputs: Sequence[RemoteInput] | Mapping[str, str] = ()
    output: str = ""
    output_names: Sequence[str] = ()
    identity: str = ""

    def to_message(self) -> model_pb2.Model:
        """Write the message of the contract.

        Raises
        ------
        ValueError
            For another protocol.
        """
        known = [name for name, number in model_pb2.RemoteModel.Protocol.items() if number]
        if self.protocol not in known:
            raise ValueError(f"protocol must be one of {', '.join(known)}, not {self.protocol!r}")
        inputs: Sequence[RemoteInput] = (
            [RemoteInput(name, kind) for name, kind in self.inputs.items()]
            if isinstance(self.inputs, Mapping)
            else self.inputs
        )
        return model_pb2.Model(
            remote=model_pb2.RemoteModel(
                uri=self.uri,
                protocol=self.protocol,
                name=self.name,
                version=self.version,
                inputs=[
                    model_pb2.RemoteInput(name=i.name, type=i.type, columns=i.columns)
                    for i in inputs
                ],
                output=self.output,
                output_names=self.output_names,
                identity=self.identity,
            )
        )
