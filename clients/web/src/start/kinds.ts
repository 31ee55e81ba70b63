/** What a file is, by its name. */

/** Whether a file of this name is a model or a table. */
export function kindOf(name: string): "model" | "table" {
  return /\.onnx$/i.test(name) ? "model" : "table";
}
