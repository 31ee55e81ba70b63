/** Calls about operations, made until they are answered. */

import type { Delivery } from "../delivery.js";
import type { Operation } from "../gen/google/longrunning/operations_pb.js";
import type {
  ExplainResponse,
  PartialExplanation,
} from "../gen/onnxplain/v1/explanation_service_pb.js";
import type { CallOptions } from "../terms.js";
import type { OperationWire } from "./wire.js";

/** The calls of one client. Each has the client's time, where it names no other. */
export class OperationCalls {
  constructor(
    private readonly wire: OperationWire,
    private readonly delivery: Delivery,
  ) {}

  get(name: string, call: CallOptions): Promise<Operation> {
    return this.delivery.ask(call, (left) => this.wire.get(name, left));
  }

  /** The operations of all pages. */
  async *all(filter: string, call: CallOptions): AsyncGenerator<Operation> {
    let token = "";
    do {
      const page = await this.delivery.ask(call, (left) => this.wire.list(filter, token, left));
      yield* page.operations;
      token = page.nextPageToken;
    } while (token !== "");
  }

  wait(name: string, ms: number, call: CallOptions): Promise<Operation> {
    return this.delivery.ask(call, (left) => this.wire.wait(name, ms, left));
  }

  cancel(name: string, call: CallOptions): Promise<void> {
    return this.delivery.ask(call, (left) => this.wire.cancel(name, left));
  }

  delete(name: string, call: CallOptions): Promise<void> {
    return this.delivery.ask(call, (left) => this.wire.delete(name, left));
  }

  read(name: string, call: CallOptions): Promise<ExplainResponse> {
    const arrived: Uint8Array[] = [];
    return this.delivery.ask(call, (left) => this.wire.read(name, arrived, left));
  }

  partials(name: string, call: CallOptions): Promise<PartialExplanation[]> {
    return this.delivery.ask(call, (left) => this.wire.partials(name, left));
  }
}
