/** The methods, with what reports say about them. */

import type { MethodName } from "onnxplain/rest";
import texts from "../../../../service/onnxplain_server/report/methods.json";

/** What a method is about. */
export interface About {
  readonly name: MethodName;
  readonly title: string;
  readonly question: string;

  /** When not to rely on it. */
  readonly limits: readonly string[];

  /** Whether it compares predictions with a target. */
  readonly needsTarget: boolean;
}

const COMPARING: readonly string[] = ["permutationImportance", "averageLoss", "swarm"];

/** All methods, in the order of the contract. */
export const METHODS: readonly About[] = Object.entries(texts).map(([key, about]) => {
  const name = camel(key) as MethodName;
  return { name, ...about, needsTarget: COMPARING.includes(name) };
});

/** What a method of this name is about; undefined for another name. */
export function about(name: string | undefined): About | undefined {
  return METHODS.find((each) => each.name === name);
}

/** The contract's name in JSON. */
export function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The contract's own name. */
export function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
