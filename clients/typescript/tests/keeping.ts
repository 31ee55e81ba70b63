/** A server of gRPC that keeps one operation, which ends at the third wait. */

import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { v1 } from "onnxplain";
import {
  type Operation,
  OperationSchema,
  Operations as OperationService,
} from "#internal/gen/google/longrunning/operations_pb.js";
import { BadRequestSchema, ErrorInfoSchema } from "#internal/gen/google/rpc/error_details_pb.js";

/** What the operation ends with. */
export const ANSWER = create(v1.ExplainResponseSchema, {
  warnings: [{ code: "LABELS_ONLY", message: "of labels alone" }],
});

/** A part of an answer. */
export const PARTIAL: MessageInitShape<typeof v1.PartialExplanationSchema> = {
  index: 1,
  explanation: { result: { case: "firm", value: {} } },
  warnings: [{ code: "FEW_ROWS" }],
};

const WAITS = 3;

/** Serve on a free port; `isFailing` ends the operation with an error that has details. */
export async function keeping(isFailing = false) {
  const asked: string[] = [];
  let waits = 0;

  function state(): Operation {
    const done = waits >= WAITS;
    const progress = { done: waits, planned: WAITS };
    const metadata = create(v1.OperationMetadataSchema, {
      state: done ? v1.OperationMetadata_State.FAILED : v1.OperationMetadata_State.RUNNING,
      progress,
      plan: { predictedRowCount: 8 },
    });
    const packed = anyPack(v1.OperationMetadataSchema, metadata);
    const operation = create(OperationSchema, { name: "operations/1", done, metadata: packed });
    if (done && isFailing) operation.result = { case: "error", value: failure() };
    return operation;
  }

  function routes(router: ConnectRouter): void {
    router.service(v1.ExplanationService, {
      startExplanation: ({ requestId, labels }) => {
        asked.push(`start ${requestId} ${JSON.stringify(labels)}`);
        return state();
      },
      async *readExplanation({ name, offset }) {
        asked.push(`read ${name}`);
        const content = toBinary(v1.ExplainResponseSchema, ANSWER);
        if (offset > 0) {
          yield { content: content.subarray(offset) };
          return;
        }
        yield { content: content.subarray(0, 5) };
        throw new ConnectError("the server is stopping", Code.Unavailable);
      },
      async *readPartialExplanations({ name }) {
        asked.push(`partials ${name}`);
        yield { ...PARTIAL };
      },
    });
    router.service(OperationService, {
      getOperation: () => state(),
      waitOperation: () => {
        waits += 1;
        return state();
      },
      listOperations: ({ name, filter, pageToken }) => {
        asked.push(`list ${name} ${filter} ${pageToken}`);
        return { operations: [state()], nextPageToken: pageToken === "" ? "next" : "" };
      },
      cancelOperation: ({ name }) => {
        asked.push(`cancel ${name}`);
        return {};
      },
      deleteOperation: ({ name }) => {
        asked.push(`delete ${name}`);
        return {};
      },
    });
  }

  const server = createServer(connectNodeAdapter({ routes }));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { endpoint: `127.0.0.1:${port}`, asked, [Symbol.dispose]: () => server.close() };
}

function failure() {
  const info = create(ErrorInfoSchema, { reason: "MISSING_COLUMN" });
  const request = create(BadRequestSchema, { fieldViolations: [{ field: "table" }] });
  return {
    $typeName: "google.rpc.Status" as const,
    code: Code.InvalidArgument,
    message: "no x",
    details: [anyPack(ErrorInfoSchema, info), anyPack(BadRequestSchema, request)],
  };
}
