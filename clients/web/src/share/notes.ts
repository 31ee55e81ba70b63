/** The reader's own notes. */

import { signal } from "@preact/signals";

/** Text for reports; it stays in this page. */
export const notes = signal("");
