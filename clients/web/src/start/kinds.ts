/** What a file is, by its name. */

const TABLE = /\.(csv|gz|parquet|arrow|feather|ipc)$/i;
const ONNX = /\.onnx$/i;
/** Native tree files; values beside an ONNX file may have such names too. */
const NATIVE = /\.(json|ubj|xgb|txt|lgb)$/i;

/** The files of a model or a table among some: the file itself first, then values beside a model. */
export function filesOf<Named extends { readonly name: string }>(
  kind: "model" | "table",
  files: readonly Named[],
): readonly Named[] {
  const named = (pattern: RegExp) => files.find(({ name }) => pattern.test(name));
  const own = (kind === "table" ? named(TABLE) : (named(ONNX) ?? named(NATIVE))) ?? files[0];
  if (own === undefined) return [];
  const isBeside = (file: Named) => file !== own && !ONNX.test(file.name) && !TABLE.test(file.name);
  return kind === "model" ? [own, ...files.filter(isBeside)] : [own];
}
