/** Asks who the reader is: a token, or the provider's page where the server names one. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { token } from "../common/server";
import { begin, fault, provider } from "./login";
import { isAsking, show } from "./tokens";

export function TokenForm() {
  const field = useRef<HTMLInputElement>(null);
  const text = useSignal("");
  const isOpen = isAsking.value || fault.value !== "";
  useEffect(() => {
    if (isOpen) field.current?.focus();
  }, [isOpen]);
  if (!isOpen) return null;
  return (
    <section class="card access" aria-label="Access">
      <h2>Who asks?</h2>
      {fault.value !== "" && (
        <p class="problem" role="alert">
          <bdi>{fault.value}</bdi>
        </p>
      )}
      {provider.value !== undefined && (
        <p>
          <button type="button" class="strong" onClick={() => void begin()}>
            Log in
          </button>
        </p>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
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
        {token.value !== "" && " One is in use."}
      </p>
    </section>
  );
}
