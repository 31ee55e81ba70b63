/** Login at an OpenID provider, by oidc-client-ts: authorisation code with PKCE (RFC 7636), and its renewal. */

import { computed, effect, signal } from "@preact/signals";
import type { User, UserManager } from "oidc-client-ts";
import { token, waiting, wasAccepted } from "../common/asking";
import { type Config, config, readConfig } from "../common/config";
import { base } from "../common/server";
import { goOn, keep } from "./tokens";

/** The provider that the server names. */
export const provider = computed(() => config.value.openid);

/** Why the last login failed. */
export const fault = signal("");

/** Whether a refresh token is being used. */
export const isRenewing = signal(false);

const PREFIX = "onnxplain.login.";

// The library looks at its clock each five seconds.
const SECONDS_BEFORE_END = 10;

/** What knows the provider; nothing where the server names none. */
let manager: Promise<UserManager | undefined> = Promise.resolve(undefined);

/**
 * Open the provider's page in a window of its own, or where the browser lets none open, in this one.
 * The page's policy isolates that window, which answers by a BroadcastChannel: whether it was closed is not known.
 */
export async function begin(): Promise<void> {
  fault.value = "";
  try {
    const made = await manager;
    if (made === undefined) throw new Error("the server names no provider");
    const { authority } = made.settings;
    if ((await made.metadataService.getIssuer()) !== authority) {
      throw new Error("the provider calls itself by another name");
    }
    await made.signinPopup().catch((error: unknown) => {
      if (!isBlocked(error)) throw error;
      return made.signinRedirect({ state: location.hash });
    });
    goOn();
  } catch (error) {
    fault.value = told(error);
  }
}

/** oidc-client-ts has no other sign of it. */
function isBlocked(error: unknown): boolean {
  return error instanceof Error && /disposed window/.test(error.message);
}

function told(error: unknown): string {
  return `No login: ${error instanceof Error ? error.message : error}`;
}

/**
 * Learn how the server wants to be shown who asks, and end a login that came back.
 *
 * @returns whether this window is one that a login opened, and has no other use
 */
export async function receive(): Promise<boolean> {
  await readConfig();
  const { value } = provider;
  if (value === undefined) return false;
  manager = opened(value);
  effect(() => {
    token.value;
    void forgetOthers();
  });
  effect(() => {
    if (waiting.value.some(({ shown }) => shown === token.peek())) void renew(isOver);
  });
  const query = new URLSearchParams(location.search);
  if (!query.has("state") || !(query.has("code") || query.has("error"))) return false;
  return ended(query.get("state") ?? "");
}

async function opened(named: NonNullable<Config["openid"]>): Promise<UserManager> {
  const { UserManager, WebStorageStateStore } = await import("oidc-client-ts");
  const made = new UserManager({
    authority: named.issuer,
    client_id: named.clientId,
    redirect_uri: base().href,
    scope: (named.scopes ?? ["openid"]).join(" "),
    // What a login remembers is read by the window that it opened, too; tokens stay in the tab.
    stateStore: new WebStorageStateStore({ prefix: PREFIX, store: localStorage }),
    userStore: new WebStorageStateStore({ prefix: PREFIX, store: sessionStorage }),
    // Without a refresh token, the library would open a frame, which the page's policy refuses.
    automaticSilentRenew: false,
    accessTokenExpiringNotificationTimeInSeconds: SECONDS_BEFORE_END,
  });
  // Logins that were given up.
  await made.clearStaleState();
  made.events.addUserLoaded(({ access_token }) => keep(access_token));
  made.events.addAccessTokenExpiring(() => void renew());
  return made;
}

/** Follow the end of the login whose token calls show; forget it, where another one was given since. */
async function forgetOthers(): Promise<void> {
  // Whether the library did not load is told by the login that needs it.
  const made = await manager.catch(() => undefined);
  const user = await made?.getUser();
  if (user && !isShown(user)) await made?.removeUser();
}

/** Whether calls show the token of a login. */
function isShown({ access_token }: User): boolean {
  return access_token === token.peek().text;
}

/** End a login that came back to this page. */
async function ended(state: string): Promise<boolean> {
  let { hash } = location;
  try {
    const made = await manager;
    // Else another page could log this one in as somebody else.
    if (!(await made?.settings.stateStore.get(state))) {
      throw new Error("the answer belongs to another login");
    }
    const user = await made?.signinCallback();
    if (user === undefined) return true;
    hash = String(user.state);
  } catch (error) {
    fault.value = told(error);
    const kept: unknown = Object(error).state;
    if (typeof kept === "string") hash = kept;
  }
  history.replaceState(null, "", `${base().pathname}${hash}`);
  return false;
}

/** Use the refresh token of the login, if it has one and the token that calls show is its own. */
async function renew(isDue: (user: User) => boolean = () => true): Promise<void> {
  if (isRenewing.peek()) return;
  isRenewing.value = true;
  try {
    const made = await manager;
    const user = await made?.getUser();
    if (user?.refresh_token && isShown(user) && isDue(user)) await made?.signinSilent();
  } catch (error) {
    // A provider that is not reached is asked again by the next call that is refused.
    if (Object(error).name === "ErrorResponse") await (await manager)?.removeUser();
  } finally {
    isRenewing.value = false;
  }
}

/** Whether a refused token may have ended: a new one is refused for something else. */
function isOver({ expired = false }: User): boolean {
  return wasAccepted(token.peek()) || expired;
}
