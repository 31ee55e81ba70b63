/** Files that a server keeps, which calls name instead of sending them. */

import type { Source } from "./sources.js";

/**
 * A model that a server keeps; calls take it in place of the model.
 *
 * @example
 * ```ts
 * const model = await client.uploadModel("model.onnx");
 * for (const table of tables) await client.explain({ model, table, methods });
 * ```
 */
export class ModelRef {
  /**
   * @param id "sha256:" and the hexadecimal digest of the file
   * @param source the file, to be sent again where the server has it no longer
   */
  constructor(
    readonly id: string,
    readonly source?: Source,
  ) {}
}

/**
 * A table that a server keeps; calls take it in place of the table.
 *
 * @example
 * ```ts
 * const table = new TableRef(id); // uploaded by somebody else of the same name
 * ```
 */
export class TableRef {
  /**
   * @param id "sha256:" and the hexadecimal digest of the file
   * @param source the file, to be sent again where the server has it no longer
   */
  constructor(
    readonly id: string,
    readonly source?: Source,
  ) {}
}
