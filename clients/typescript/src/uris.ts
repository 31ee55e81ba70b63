/** Models and tables that a server reads where they lie, below prefixes that its operator lists. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Model, ModelSchema } from "./gen/onnxplain/v1/model_pb.js";
import {
  type Table,
  TableFilterSchema,
  TableSchema,
  TableUrisSchema,
} from "./gen/onnxplain/v1/table_pb.js";
import { UploadTableRequest_Format } from "./gen/onnxplain/v1/upload_pb.js";

/**
 * A model by its address.
 *
 * @example
 * ```ts
 * await client.describe(new ModelUri("models:/churn@champion"));
 * ```
 */
export class ModelUri {
  /**
   * @param uri such as "s3://models/churn.onnx"
   * @param sha256 digest of the file, as 64 hexadecimal digits: another file is refused with
   *   SOURCE_CHANGED
   */
  constructor(
    readonly uri: string,
    readonly sha256 = "",
  ) {}

  /** Write the message. */
  toMessage(): Model {
    return create(ModelSchema, { source: { case: "uri", value: this.uri }, sha256: this.sha256 });
  }
}

/**
 * A table in files, by their addresses.
 *
 * @example
 * ```ts
 * const table = new TableUris(["s3://lake/rows/"], {
 *   filters: [{ column: "year", values: ["2026"] }],
 * });
 * ```
 */
export class TableUris {
  /**
   * @param uris such as "s3://lake/rows.parquet", or with a slash at the end folders
   * @param options a format, where the names of the files do not tell it, and filters of rows
   */
  constructor(
    readonly uris: readonly string[],
    readonly options: {
      readonly format?: "arrow" | "parquet" | "csv";
      readonly filters?: readonly MessageInitShape<typeof TableFilterSchema>[];
    } = {},
  ) {}

  /** Write the message. */
  toMessage(): Table {
    const { format, filters = [] } = this.options;
    const value = create(TableUrisSchema, {
      uris: [...this.uris],
      format: FORMATS[format ?? "none"],
      filters: filters.map((filter) => create(TableFilterSchema, filter)),
    });
    return create(TableSchema, { source: { case: "uris", value } });
  }
}

const FORMATS = {
  none: UploadTableRequest_Format.FORMAT_UNSPECIFIED,
  arrow: UploadTableRequest_Format.ARROW,
  parquet: UploadTableRequest_Format.PARQUET,
  csv: UploadTableRequest_Format.CSV,
} as const;
