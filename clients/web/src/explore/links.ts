/** From what is shown to pages about it. */

/** The page of a feature, or of features together. */
export function pathOf(features: readonly string[]): string[] {
  return features.length === 1 ? ["feature", ...features] : ["features", ...features];
}

/**
 * The features that a bar, a cell or a curve of a chart is about; none where its data names none
 * of the `known`.
 */
export function picked(
  datum: Readonly<Record<string, unknown>>,
  known: readonly (readonly string[])[],
): readonly string[] {
  const named = [datum["feature"], datum["label"], datum["features"]];
  for (const name of named) {
    if (typeof name !== "string") continue;
    const found = known.find((features) => features.join(" × ") === name);
    if (found !== undefined) return found;
  }
  const pair = [datum["row"], datum["column"]];
  if (pair.every((name) => typeof name === "string") && pair[0] !== pair[1]) {
    const found = known.find(
      (names) => names.length === 2 && pair.every((each) => names.includes(each as string)),
    );
    if (found !== undefined) return found;
  }
  return [];
}
