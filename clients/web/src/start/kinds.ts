/** What a file is, by its name. */

const TABLE = /\.(csv|gz|parquet|arrow|feather|ipc)$/i;

/** Whether a file of this name is a model, a table, or has values of a model beside it. */
export function kindOf(name: string): "model" | "table" | "values" {
  if (/\.onnx$/i.test(name)) return "model";
  return TABLE.test(name) ? "table" : "values";
}

/** The files of a model or a table among some: the file itself first, then values beside a model. */
export function filesOf<Named extends { readonly name: string }>(
  kind: "model" | "table",
  files: readonly Named[],
): readonly Named[] {
  const own = files.find(({ name }) => kindOf(name) === kind) ?? files[0];
  if (own === undefined) return [];
  const values = files.filter((file) => file !== own && kindOf(file.name) === "values");
  return kind === "model" ? [own, ...values] : [own];
}
