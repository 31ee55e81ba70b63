/** The messages that operations hold as `Any`. */

import { createRegistry } from "@bufbuild/protobuf";
import { file_google_rpc_error_details } from "../gen/google/rpc/error_details_pb.js";
import { ExplainResponseSchema } from "../gen/onnxplain/v1/explanation_service_pb.js";
import { OperationMetadataSchema } from "../gen/onnxplain/v1/operations_pb.js";

/** Metadata, response, and the details of errors. */
export const REGISTRY = createRegistry(
  OperationMetadataSchema,
  ExplainResponseSchema,
  file_google_rpc_error_details,
);
