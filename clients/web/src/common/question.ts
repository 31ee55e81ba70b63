/** The question that the page asks, and the address that holds it. */

/** A file that the server keeps by its id, or reads at an address. */
export interface Content {
  readonly kind: "id" | "uri";

  /** "sha256:" and a digest, or the address. */
  readonly value: string;

  /** What people call it, like the name of the file. */
  readonly name: string;
}

/** What is asked; empty texts and lists stand for the server's defaults. */
export interface Question {
  readonly model: Content | undefined;
  readonly table: Content | undefined;
  readonly target: string;
  readonly weight: string;
  readonly features: readonly string[];
  readonly output: string;
  readonly seconds: number;
}

/** What the model and table of a question are compared with; undefined for what stays. */
export interface Other {
  readonly model: Content | undefined;
  readonly table: Content | undefined;
}

/** Where the reader is. */
export interface Place {
  readonly room: Room;

  /** What is looked at in the room, like a method, a feature or two. */
  readonly path: readonly string[];
  readonly question: Question;
  readonly other: Other;

  /** The operation that computes the overview, where the server keeps operations. */
  readonly operation: string;
}

export const ROOMS = ["start", "explore", "row", "compare", "share"] as const;
export type Room = (typeof ROOMS)[number];

/** Seconds of an overview, unless told otherwise. */
export const OVERVIEW_SECONDS = 60;

export const EMPTY: Question = {
  model: undefined,
  table: undefined,
  target: "",
  weight: "",
  features: [],
  output: "",
  seconds: OVERVIEW_SECONDS,
};

export const NO_OTHER: Other = { model: undefined, table: undefined };

const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** Write a place as the fragment of an address. */
export function toHash({ room, path, question, other, operation }: Place): string {
  const query = new URLSearchParams();
  for (const [name, content] of [
    ["model", question.model],
    ["table", question.table],
    ["otherModel", other.model],
    ["otherTable", other.table],
  ] as const) {
    if (content === undefined) continue;
    query.set(name, content.value);
    if (content.name !== "") query.set(`${name}Name`, content.name);
  }
  for (const name of ["target", "weight", "output"] as const) {
    if (question[name] !== "") query.set(name, question[name]);
  }
  for (const name of question.features) query.append("feature", name);
  if (question.seconds !== OVERVIEW_SECONDS) query.set("seconds", String(question.seconds));
  if (operation !== "") query.set("operation", operation);
  const parts = [room, ...path].map(encodeURIComponent).join("/");
  return query.size === 0 ? `#/${parts}` : `#/${parts}?${query}`;
}

/** Read the fragment of an address; what it does not tell is empty. */
export function fromHash(hash: string): Place {
  const [parts = "", ...rest] = hash.replace(/^#\/?/, "").split("?");
  const query = new URLSearchParams(rest.join("?"));
  const [first, ...path] = parts.split("/").map(decoded);
  const seconds = Number(query.get("seconds") ?? OVERVIEW_SECONDS);
  return {
    room: ROOMS.find((room) => room === first) ?? "start",
    path: path.filter((part) => part !== ""),
    operation: query.get("operation") ?? "",
    other: { model: contentOf(query, "otherModel"), table: contentOf(query, "otherTable") },
    question: {
      model: contentOf(query, "model"),
      table: contentOf(query, "table"),
      target: query.get("target") ?? "",
      weight: query.get("weight") ?? "",
      output: query.get("output") ?? "",
      features: query.getAll("feature"),
      seconds: seconds >= 1 && seconds <= 86_400 ? seconds : OVERVIEW_SECONDS,
    },
  };
}

function contentOf(query: URLSearchParams, kind: string): Content | undefined {
  const value = query.get(kind) ?? "";
  if (value === "") return undefined;
  const name = query.get(`${kind}Name`) ?? "";
  return { kind: DIGEST.test(value) ? "id" : "uri", value, name };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
