/** What went wrong, where, and what to do. */

import { ExplainError } from "onnxplain/rest";
import { begin, provider } from "../access/login";
import { isAsking } from "../access/tokens";
import { token } from "./asking";
import { plain } from "./name";

// The message of the server names the input, the rule and the remedy; these are about the page.
const REMEDIES: Readonly<Record<string, string>> = {
  BLOB_NOT_FOUND: "The server no longer has this file. Choose it again.",
  UNAVAILABLE: "Check that the server runs, then try again.",
  QUEUE_FULL: "The server is busy. Try again in a moment.",
};

/** An error for people; one that asks who calls opens the form for it. */
export function Problem({ error, title }: { error: unknown; title: string }) {
  const isOurs = error instanceof ExplainError;
  const message = error instanceof Error ? error.message : String(error);
  const remedy = isOurs ? REMEDIES[error.reason] : undefined;
  return (
    <div class="problem" role="alert">
      <p>
        <strong>{title}</strong>
      </p>
      <p>
        <bdi>{plain(message)}</bdi>
      </p>
      {remedy && <p>{remedy}</p>}
      {isOurs && error.code === "UNAUTHENTICATED" && <Remedies />}
      {isOurs && (
        <p class="note">
          <code>{error.reason}</code>
          {error.field !== "" && (
            <>
              {" at "}
              <code>
                <bdi>{plain(error.field)}</bdi>
              </code>
            </>
          )}
        </p>
      )}
    </div>
  );
}

/** Ways to show who asks. */
function Remedies() {
  const hasProvider = provider.value !== undefined;
  return (
    <>
      <p>
        {hasProvider ? "Log in or enter a token" : "Enter a token"}: what was asked then goes on.
      </p>
      <p>
        {hasProvider && (
          <>
            <button type="button" class="strong" onClick={() => void begin()}>
              {token.value.text === "" ? "Log in" : "Log in again"}
            </button>{" "}
          </>
        )}
        <button
          type="button"
          onClick={() => {
            isAsking.value = true;
          }}
        >
          Enter a token
        </button>
      </p>
    </>
  );
}
