/** Requests as programs in the languages of the clients. */

import type { Content } from "../common/question";
import type { Methods } from "../common/runs";
import { snake } from "./methods";

/** What a program asks. */
export interface Asked {
  readonly model: Content;
  readonly table: Content;
  readonly options: Readonly<Record<string, unknown>>;
  readonly methods: Methods;
}

export const LANGUAGES = ["JSON", "curl", "Python", "Go", "Java", "TypeScript"] as const;
export type Language = (typeof LANGUAGES)[number];

// gRPC's own port, unless the server was told another.
const PORT = 8081;

/** Write a program; `address` is that of the server over REST. */
export function programOf(language: Language, asked: Asked, address: URL): string {
  const endpoint = `${address.hostname}:${PORT}`;
  const writers: Readonly<Record<Language, () => string>> = {
    JSON: () => json(asked),
    curl: () => curl(asked, address),
    Python: () => python(asked, endpoint),
    Go: () => go(asked, endpoint),
    Java: () => java(asked, endpoint),
    TypeScript: () => typescript(asked, endpoint),
  };
  return writers[language]();
}

function requestOf({ model, table, options, methods }: Asked): Record<string, unknown> {
  return {
    model: model.kind === "id" ? { id: model.value } : { uri: model.value },
    table: table.kind === "id" ? { id: table.value } : { uris: { uris: [table.value] } },
    ...options,
    ...(methods.length === 0 ? {} : { methods }),
  };
}

function json(asked: Asked): string {
  return JSON.stringify(requestOf(asked), undefined, 2);
}

function curl(asked: Asked, address: URL): string {
  // A single quote ends the quoted text of a shell.
  const body = json(asked).replace(/'/g, `'\\''`);
  return `curl ${new URL("v1/explanations", address)} -H 'Content-Type: application/json' -d '${body}'`;
}

/** What clients are given besides files and methods, and the file where it is no address. */
function python(asked: Asked, endpoint: string): string {
  const args = [
    asked.model.kind === "uri"
      ? `onnxplain.ModelUri(${text(asked.model.value)})`
      : text(asked.model.name || "model.onnx"),
    asked.table.kind === "uri"
      ? `onnxplain.TableUris(${text(asked.table.value)})`
      : text(asked.table.name || "rows.csv"),
    ...asked.methods.map(pythonMethod),
    ...Object.entries(asked.options).map(([name, value]) => `${snake(name)}=${literal(value)}`),
  ];
  const lines = args.map((each) => `        ${each},\n`).join("");
  return (
    `import onnxplain\n\nwith onnxplain.connect("${endpoint}") as client:\n` +
    `    explanation = client.explain(\n${lines}    )\nprint(explanation.to_json())\n`
  );
}

function pythonMethod(method: Methods[number]): string {
  const [[name, options = {}] = [""]] = Object.entries(method);
  const args = Object.entries(options as object).map(
    ([key, value]) => `${snake(key)}=${literal(groupsOf(value))}`,
  );
  return `onnxplain.${name.charAt(0).toUpperCase()}${name.slice(1)}(${args.join(", ")})`;
}

/** Groups of features, which Python has as lists of names. */
function groupsOf(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((each) =>
    isGroup(each) ? (each.names.length > 1 ? each.names : each.names[0]) : each,
  );
}

function isGroup(value: unknown): value is { names: readonly string[] } {
  return typeof value === "object" && value !== null && "names" in value;
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value === "boolean") return value ? "True" : "False";
  return typeof value === "string" ? text(value) : JSON.stringify(value);
}

/** A text in double quotes: JSON's escapes are those of Python and Java, too. */
function text(value: string): string {
  return JSON.stringify(value);
}

function go(asked: Asked, endpoint: string): string {
  return `package main

import (
	"context"
	"fmt"
	"log"
	"strings"

	onnxplain "github.com/onnxplain/onnxplain/clients/go"
	"github.com/onnxplain/onnxplain/clients/go/onnxplainv1"
	"google.golang.org/protobuf/encoding/protojson"
)

// A raw text of Go has no backquotes, which stand as \\u0060 in JSON.
const request = \`${json(asked).replace(/`/g, "\\u0060")}\`

func main() {
	client, err := onnxplain.Connect("${endpoint}")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	var asked onnxplainv1.ExplainRequest
	if err := protojson.Unmarshal([]byte(strings.TrimSpace(request)), &asked); err != nil {
		log.Fatal(err)
	}
	explanation, err := client.Service().Explain(context.Background(), &asked)
	if err != nil {
		log.Fatal(err)
	}
	text, err := onnxplain.JSON(explanation)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
}
`;
}

function java(asked: Asked, endpoint: string): string {
  const lines = json(asked)
    .split("\n")
    .map((line) => `            + ${text(`${line}\n`)}`)
    .join("\n");
  return `import com.google.protobuf.util.JsonFormat;
import io.github.onnxplain.*;
import io.github.onnxplain.v1.ExplainRequest;

class Asked {
    static final String REQUEST = ""
${lines};

    public static void main(String[] arguments) throws Exception {
        ExplainRequest.Builder asked = ExplainRequest.newBuilder();
        JsonFormat.parser().merge(REQUEST, asked);
        try (OnnxplainClient client = Onnxplain.connect("${endpoint}").build()) {
            System.out.println(client.explain(ExplainCall.builder(asked.build()).build()).toJson());
        }
    }
}
`;
}

function typescript(asked: Asked, endpoint: string): string {
  const { model, table, options, methods } = asked;
  const files = {
    model: model.kind === "uri" ? `new ModelUri(${text(model.value)})` : text(model.name),
    table: table.kind === "uri" ? `new TableUris([${text(table.value)}])` : text(table.name),
  };
  const rest = Object.entries({ ...options, methods }).map(
    ([name, value]) => `  ${name}: ${JSON.stringify(value)},\n`,
  );
  const names = ["connect", ...(model.kind === "uri" ? ["ModelUri"] : [])];
  if (table.kind === "uri") names.push("TableUris");
  return `import { ${names.join(", ")} } from "onnxplain";

const client = connect("${endpoint}");
const explanation = await client.explain({
  model: ${files.model},
  table: ${files.table},
${rest.join("")}});
console.log(JSON.stringify(explanation.toJson(), undefined, 2));
client.close();
`;
}
