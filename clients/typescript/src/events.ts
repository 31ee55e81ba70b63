/** Server-sent events, as the HTML standard has them. */

/** One event. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/** Read the events of a stream; one that is cut off is left out. */
export async function* events(parts: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of parts) {
    text += decoder.decode(part, { stream: true });
    const blocks = text.split(/\r?\n\r?\n/);
    text = blocks.pop() ?? "";
    for (const block of blocks) yield parsed(block);
  }
}

function parsed(block: string): ServerEvent {
  const lines = block.split(/\r?\n/);
  return {
    event: values(lines, "event").at(-1) ?? "message",
    data: values(lines, "data").join("\n"),
  };
}

function values(lines: readonly string[], name: string): string[] {
  return lines
    .filter((line) => line.startsWith(`${name}:`))
    .map((line) => line.slice(name.length + 1).replace(/^ /, ""));
}
