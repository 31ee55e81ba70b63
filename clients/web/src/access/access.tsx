/** Asks who the reader is: a token, or the provider's page where the server names one. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { token, waiting } from "../common/asking";
import { Problem } from "../common/problem";
import { begin, fault, isRenewing, provider } from "./login";
import { isAsking, show } from "./tokens";

/** What stands in the way of calls, and the form. */
export function Access() {
  const [refused] = isRenewing.value ? [] : waiting.value;
  const isOpen = isAsking.value || fault.value !== "";
  if (refused === undefined && !isOpen) return null;
  return (
    <section class="card access" aria-label="Access">
      <h2>Who asks?</h2>
      {fault.value !== "" && (
        <p class="problem" role="alert">
          <bdi>{fault.value}</bdi>
        </p>
      )}
      {refused !== undefined && (
        <Problem error={refused.error} title="The server does not know who asks" />
      )}
      {refused === undefined && provider.value !== undefined && (
        <p>
          <button type="button" class="strong" onClick={() => void begin()}>
            Log in
          </button>
        </p>
      )}
      {isOpen && <TokenForm />}
    </section>
  );
}

function TokenForm() {
  const field = useRef<HTMLInputElement>(null);
  const text = useSignal("");
  useEffect(() => field.current?.focus(), []);
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (text.value.trim() === "") return;
          fault.value = "";
          show(text.value);
          text.value = "";
        }}
      >
        <label>
          Token{" "}
          <input
            ref={field}
            type="password"
            autocomplete="off"
            spellcheck={false}
            value={text.value}
            onInput={(event) => {
              text.value = event.currentTarget.value;
            }}
          />
        </label>{" "}
        <button type="submit">Use it</button>{" "}
        <button
          type="button"
          class="quiet"
          onClick={() => {
            isAsking.value = false;
            fault.value = "";
          }}
        >
          Close
        </button>
      </form>
      <p class="note">
        The token stays in this tab until it is closed.
        {token.value.text !== "" && " One is in use."}
      </p>
    </>
  );
}
