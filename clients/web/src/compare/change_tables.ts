/** What has changed as tables, in the words of reports. */

import { v1 } from "onnxplain/rest";
import WORDS from "../../../../service/onnxplain_server/report/changes/change_words.json";
import type { Grid } from "../tables/grid";

export { WORDS };

type Verdict = keyof typeof WORDS.verdicts;

/** The numbers, the surest change first, the rankings, and what is not compared; none is empty. */
export function tablesOfChanges(comparison: v1.ExplanationComparison): Grid[] {
  const all = [numbersOf(comparison), rankingsOf(comparison), unmatchedOf(comparison)];
  return all.filter(({ rows }) => rows.length > 0);
}

function numbersOf({ differences, options }: v1.ExplanationComparison): Grid {
  const ordered = [...differences].sort((one, other) => orderOf(one) - orderOf(other));
  return {
    title: "Numbers",
    note: `${WORDS.numbers} ${options?.confidenceLevel ?? ""}`,
    columns: ["Statistic", "Before", "After", "Change", "Lower", "Upper", "Adjusted p", "Verdict"],
    rows: ordered.map((each) => [
      subjectOf(each),
      each.referenceValue,
      each.value,
      each.difference,
      each.lower,
      each.upper,
      each.adjustedPValue,
      WORDS.verdicts[v1.ExplanationComparison_Verdict[each.verdict] as Verdict],
    ]),
  };
}

/** What is not tested stands last. */
function orderOf({ adjustedPValue }: v1.StatisticDifference): number {
  return Number.isNaN(adjustedPValue) ? 2 : adjustedPValue;
}

function rankingsOf({ rankings }: v1.ExplanationComparison): Grid {
  return {
    title: "Rankings",
    note: WORDS.rankings,
    columns: [
      "Ranking",
      "Features",
      "Rank correlation",
      "Lower",
      "Upper",
      "NDCG",
      "Lower NDCG",
      "Upper NDCG",
      "Leading ones changed",
    ],
    rows: rankings.map((each) => [
      `${kindOf(each.kind)} for ${each.outputName}`,
      each.featureCount,
      each.rankCorrelation,
      each.rankCorrelationLower,
      each.rankCorrelationUpper,
      each.ndcg,
      each.ndcgLower,
      each.ndcgUpper,
      each.leadingChanges.map((change) => leadingOf(each, change)).join(", ") || "none",
    ]),
  };
}

function leadingOf({ featureCount }: v1.RankingComparison, change: v1.LeadingChange): string {
  const told = (rank: number) => (rank <= featureCount ? String(rank) : "not used");
  return `${change.features.join(" × ")}: ${told(change.referenceRank)} to ${told(change.rank)}`;
}

function unmatchedOf({ unmatched }: v1.ExplanationComparison): Grid {
  const rows = unmatched.map(({ kind, features, group, outputName, reason }) => {
    const about = [features.join(" × "), group, outputName].filter((name) => name !== "");
    const what = kind === v1.ReplicatedStatistic_Kind.KIND_UNSPECIFIED ? "output" : kindOf(kind);
    return [[what, about.join(" in ")].filter((text) => text !== "").join(" of "), reason] as const;
  });
  const once = new Map(rows.map((row) => [row.join("\n"), row]));
  return {
    title: "Not compared",
    note: WORDS.unmatched,
    columns: ["Not compared", "Why"],
    rows: [...once.values()],
  };
}

/** What a difference is about, like "importance of zip for price". */
function subjectOf({ kind, features, group, outputName }: v1.StatisticDifference): string {
  const of = features.length > 0 ? ` of ${features.join(" × ")}` : "";
  const within = group === "" ? "" : ` in ${group}`;
  return `${kindOf(kind)}${of}${within} for ${outputName}`;
}

function kindOf(kind: v1.ReplicatedStatistic_Kind): string {
  const name = (v1.ReplicatedStatistic_Kind[kind] ?? "").toLowerCase().replaceAll("_", " ");
  return name.replace(/ square$/, ", as a mean square,");
}
