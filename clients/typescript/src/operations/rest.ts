/** The calls about operations over REST. */

import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { type Fetching, LENIENT, type Sent } from "../fetching.js";
import {
  type ListOperationsResponse,
  ListOperationsResponseSchema,
  type Operation,
  OperationSchema,
} from "../gen/google/longrunning/operations_pb.js";
import {
  type ExplainResponse,
  ExplainResponseSchema,
  type PartialExplanation,
  PartialExplanationSchema,
} from "../gen/onnxplain/v1/explanation_service_pb.js";
import type { CallOptions } from "../terms.js";
import type { OperationWire } from "./wire.js";

/** Messages about operations by REST, whose routes are `v1/` and the name of the operation. */
export class RestOperations implements OperationWire {
  constructor(private readonly calls: Fetching) {}

  get(name: string, call: CallOptions): Promise<Operation> {
    return this.calls.message(sent("GET", name), OperationSchema, call);
  }

  list(filter: string, pageToken: string, call: CallOptions): Promise<ListOperationsResponse> {
    const query = new URLSearchParams({ filter, page_token: pageToken });
    return this.calls.message(
      sent("GET", `operations?${query}`),
      ListOperationsResponseSchema,
      call,
    );
  }

  wait(name: string, ms: number, call: CallOptions): Promise<Operation> {
    const seconds = (ms / 1_000).toFixed(3);
    return this.calls.message(sent("GET", `${name}?wait=${seconds}s`), OperationSchema, call);
  }

  async cancel(name: string, call: CallOptions): Promise<void> {
    await this.calls.text(sent("POST", `${name}:cancel`), call, String);
  }

  async delete(name: string, call: CallOptions): Promise<void> {
    await this.calls.text(sent("DELETE", name), call, String);
  }

  read(name: string, _: Uint8Array[], call: CallOptions): Promise<ExplainResponse> {
    return this.calls.message(sent("GET", `${name}/result`), ExplainResponseSchema, call);
  }

  partials(name: string, call: CallOptions): Promise<PartialExplanation[]> {
    return this.calls.text(sent("GET", `${name}/partials`), call, (text) => {
      const { partials }: { partials: JsonValue[] } = JSON.parse(text);
      return partials.map((each) => fromJson(PartialExplanationSchema, each, LENIENT));
    });
  }
}

function sent(method: Sent["method"], route: string): Sent {
  return { method, route: `v1/${route}` };
}
