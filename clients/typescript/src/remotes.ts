/** Models behind addresses, which a server asks for predictions. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type Model,
  ModelSchema,
  type RemoteInputSchema,
  RemoteModel_Protocol,
  RemoteModelSchema,
} from "./gen/onnxplain/v1/model_pb.js";

/** How a server of models is asked: see `RemoteModel.Protocol` of the contract. */
export type RemoteProtocol = "OIP_REST" | "OIP_GRPC" | "KSERVE_V1" | "MLFLOW";

/** What a server of models does not tell, or has several of. */
export interface RemoteModelOptions {
  /** Default: OIP_REST. */
  readonly protocol?: RemoteProtocol;
  /** Default: the server's choice. */
  readonly version?: string;
  /** What the model takes, in its order. Default: what its server tells, else the table in one matrix. */
  readonly inputs?: readonly MessageInitShape<typeof RemoteInputSchema>[];
  /** Tensor, or field of the answer, with the predictions. Default: the only one. */
  readonly output?: string;
  /** Names of the prediction columns, as of classes. */
  readonly outputNames?: readonly string[];
  /** What you vouch for: its numbers are cached under it. Default: the version. */
  readonly identity?: string;
}

/**
 * A model behind an address, below a prefix that the operator of the server lists.
 *
 * @example
 * ```ts
 * const model = new RemoteModel("http://models:8080", "churn", { protocol: "OIP_REST" });
 * ```
 */
export class RemoteModel {
  /**
   * @param uri address of its server
   * @param name of the model at its server; empty for MLFLOW, whose server has one
   * @param options what else is to be told
   */
  constructor(
    readonly uri: string,
    readonly name = "",
    readonly options: RemoteModelOptions = {},
  ) {}

  /** Write the message. */
  toMessage(): Model {
    const { protocol = "OIP_REST", inputs = [], outputNames = [], ...others } = this.options;
    const value = create(RemoteModelSchema, {
      ...others,
      uri: this.uri,
      name: this.name,
      protocol: RemoteModel_Protocol[protocol],
      inputs: [...inputs],
      outputNames: [...outputNames],
    });
    return create(ModelSchema, { source: { case: "remote", value } });
  }
}
