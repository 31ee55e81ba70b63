/** What calls return. */

import { toJson } from "@bufbuild/protobuf";
import {
  type ExplainResponse,
  type ExplainResponseJson,
  ExplainResponseSchema,
  type Explanation as ExplanationMessage,
  type MethodOptions,
  type Receipt,
  type Warning,
} from "./gen/onnxplain/v1/explanation_service_pb.js";
import type { ModelDescription } from "./gen/onnxplain/v1/model_pb.js";
import type { MethodName, ResultOf } from "./methods.js";

/** A picture of a result, as data that Vega-Lite draws. */
export interface Plot {
  /** Identifier, unique among the plots of one explanation, like "curve-age". */
  readonly name: string;

  /** For people. */
  readonly title: string;

  /** What the picture shows, in words. */
  readonly description: string;

  /** The specification, with its data inside; for example for vega-embed. */
  readonly vegaLite: Record<string, unknown>;
}

/**
 * The answer of one method.
 *
 * @example
 * ```ts
 * for (const { method, plots } of found) console.log(method, plots.map((plot) => plot.title));
 * ```
 */
export class Explanation {
  /** @param message the answer as it came */
  constructor(readonly message: ExplanationMessage) {}

  /** Which method this is of; undefined for one that this client is too old for. */
  get method(): MethodName | undefined {
    return this.message.result.case;
  }

  /** What the method found. */
  get result(): ResultOf<MethodName> | undefined {
    return this.message.result.value;
  }

  /** The method's options, with every default filled in. */
  get options(): MethodOptions | undefined {
    return this.message.options;
  }

  /** Its pictures. */
  get plots(): Plot[] {
    return this.message.plots.map(({ name, title, description, vegaLite }) => {
      return { name, title, description, vegaLite: JSON.parse(vegaLite) };
    });
  }
}

/**
 * The answers of all methods asked for, in their order.
 *
 * @example
 * ```ts
 * const found = await client.explain({ model, table, methods: [{ interactions: {} }] });
 * for (const pair of found.result("interactions").pairwise) {
 *   console.log(pair.features.join(" x "), pair.values);
 * }
 * await vegaEmbed("#plot", found.plot("overall").vegaLite);
 * ```
 */
export class Explanations implements Iterable<Explanation> {
  /** The answers, one per method. */
  readonly all: readonly Explanation[];

  /** @param message the answer as it came */
  constructor(readonly message: ExplainResponse) {
    this.all = message.explanations.map((each) => new Explanation(each));
  }

  [Symbol.iterator](): Iterator<Explanation> {
    return this.all[Symbol.iterator]();
  }

  /** What the model takes and gives. */
  get model(): ModelDescription | undefined {
    return this.message.model;
  }

  /** How the answer was made, and what it cost. */
  get receipt(): Receipt | undefined {
    return this.message.receipt;
  }

  /** What to know before trusting the numbers. */
  get warnings(): readonly Warning[] {
    return this.message.warnings;
  }

  /** All pictures. */
  get plots(): Plot[] {
    return this.all.flatMap((each) => each.plots);
  }

  /**
   * The picture of this name.
   *
   * @throws RangeError where there is none
   */
  plot(name: string): Plot {
    const plots = this.plots;
    const found = plots.find((plot) => plot.name === name);
    if (found !== undefined) return found;
    const names = plots.map((plot) => plot.name).join(", ");
    throw new RangeError(`no plot "${name}"; there are: ${names || "none"}`);
  }

  /**
   * The result of a method that was asked for once.
   *
   * @throws RangeError where it was not; then see `all`
   */
  result<Name extends MethodName>(method: Name): ResultOf<Name> {
    const found = this.all.filter((each) => each.method === method);
    if (found.length === 1) return found[0]?.result as ResultOf<Name>;
    throw new RangeError(`${method} was asked for ${found.length} times, not once; see \`all\``);
  }

  /** The answer in the contract's canonical JSON, as REST has it. */
  toJson(): ExplainResponseJson {
    const json = toJson(ExplainResponseSchema, this.message, { alwaysEmitImplicit: true });
    return json as ExplainResponseJson;
  }
}
