/** A room whose program is loaded when somebody goes there. */

import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { Problem } from "./problem";

export function Later({ load }: { load: () => Promise<ComponentType> }) {
  const loaded = useSignal<{ Room: ComponentType } | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  useEffect(() => {
    load().then(
      (Room) => {
        loaded.value = { Room };
      },
      (fault: unknown) => {
        error.value = fault;
      },
    );
  }, [load]);
  if (error.value !== undefined) {
    return <Problem error={error.value} title="This room was not loaded: load the page again" />;
  }
  if (loaded.value === undefined) return <p class="note">Loading…</p>;
  const { Room } = loaded.value;
  return <Room />;
}
