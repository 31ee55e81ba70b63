/** What the server tells the page before anything is asked. */

import { signal } from "@preact/signals";
import { base } from "./server";

/** A server without settings for the page tells nothing. */
export interface Config {
  readonly version?: string;
  readonly needsToken?: boolean;

  /** The most bytes of an upload. */
  readonly uploadBytes?: { readonly model: number; readonly table: number };
  readonly hasOperations?: boolean;
  readonly hasSources?: boolean;
  readonly openid?: {
    readonly issuer: string;
    readonly clientId: string;
    readonly scopes?: readonly string[];
  };
}

export const config = signal<Config>({});

/** Read it, once. */
export async function readConfig(): Promise<void> {
  const response = await fetch(new URL("page/config.json", base())).catch(() => undefined);
  if (response?.ok) config.value = await response.json();
}
