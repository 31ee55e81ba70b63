/** Login on the page of an OpenID provider: authorisation code with PKCE (RFC 7636). */

import { computed, signal } from "@preact/signals";
import { config, readConfig } from "../common/config";
import { base } from "../common/server";
import { challengeOf, randomText } from "./pkce";
import { keep } from "./tokens";

/** Of OpenID Connect Discovery, what is needed. */
interface Endpoints {
  readonly issuer: string;
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
}

/** What a login remembers while the provider's page is open. */
interface Begun {
  readonly state: string;
  readonly verifier: string;
  readonly hash: string;
}

/** The provider that the server names. */
export const provider = computed(() => config.value.openid);

/** Why the last login failed. */
export const fault = signal("");

const KEY = "onnxplain-login";

/** Go to the provider's page; it comes back to this one. */
export async function begin(): Promise<void> {
  const { value } = provider;
  if (value === undefined) return;
  try {
    const { authorization_endpoint } = await endpoints(value.issuer);
    const begun: Begun = { state: randomText(), verifier: randomText(), hash: location.hash };
    sessionStorage.setItem(KEY, JSON.stringify(begun));
    const address = new URL(authorization_endpoint);
    const query = {
      response_type: "code",
      client_id: value.clientId,
      redirect_uri: base().href,
      scope: (value.scopes ?? ["openid"]).join(" "),
      state: begun.state,
      code_challenge: await challengeOf(begun.verifier),
      code_challenge_method: "S256",
    };
    for (const [name, text] of Object.entries(query)) address.searchParams.set(name, text);
    location.assign(address);
  } catch (error) {
    fault.value = `No login: ${error instanceof Error ? error.message : error}`;
  }
}

/** Learn how the server wants to be shown who asks, and end a login that came back. */
export async function receive(): Promise<void> {
  await readConfig();
  const query = new URLSearchParams(location.search);
  const begun = sessionStorage.getItem(KEY);
  if (begun === null || !(query.has("code") || query.has("error"))) return;
  sessionStorage.removeItem(KEY);
  const { state, verifier, hash }: Begun = JSON.parse(begun);
  history.replaceState(null, "", `${base().pathname}${hash}`);
  try {
    const refused = query.get("error");
    if (refused !== null) throw new Error(query.get("error_description") ?? refused);
    // Else another page could log this one in as somebody else.
    if (query.get("state") !== state) throw new Error("the answer belongs to another login");
    keep(await exchanged(query.get("code") ?? "", verifier));
  } catch (error) {
    fault.value = `No login: ${error instanceof Error ? error.message : error}`;
  }
}

async function endpoints(issuer: string): Promise<Endpoints> {
  const address = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const response = await fetch(address);
  if (!response.ok) throw new Error(`the provider answered HTTP ${response.status}`);
  const found: Endpoints = await response.json();
  if (found.issuer !== issuer) throw new Error("the provider calls itself by another name");
  return found;
}

async function exchanged(code: string, verifier: string): Promise<string> {
  const { value } = provider;
  if (value === undefined) throw new Error("the server names no provider");
  const { token_endpoint } = await endpoints(value.issuer);
  const body = new URLSearchParams({
    grant_type: "authorization_code",
    code,
    redirect_uri: base().href,
    client_id: value.clientId,
    code_verifier: verifier,
  });
  const response = await fetch(token_endpoint, { method: "POST", body });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error_description ?? answer.error ?? "refused");
  if (typeof answer.access_token !== "string") throw new Error("the provider gave no token");
  return answer.access_token;
}
