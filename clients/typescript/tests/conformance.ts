/** The client as a runner of tests/conformance, over gRPC, or REST with `--rest`: see README.md there. */

import { createReadStream } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { create, fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import {
  type Bytes,
  type CheckModelInput,
  type Client,
  type Columns,
  connect,
  type DescribeTableInput,
  ExplainError,
  type ExplainInput,
  type GrpcConnectOptions,
  ModelFiles,
  ModelRef,
  type PredictInput,
  TableRef,
  v1,
} from "onnxplain";
import { connect as connectRest } from "onnxplain/rest";

type AnyClient = Client<never>;

interface Case {
  readonly call:
    | "explain"
    | "stream"
    | "describe"
    | "describe_table"
    | "check"
    | "compare"
    | "predict"
    | "upload"
    | "cancel";
  readonly model?: string;
  readonly model_files?: readonly string[];
  readonly table?: string;
  readonly columns?: Columns;
  readonly request: ExplainInput & { model?: { id: string }; table?: { id: string } };
  readonly timeout_seconds?: number;
  readonly cancel_after_seconds?: number;
}

/** What each call of a case does. */
const CALLS = {
  async explain(client: AnyClient, root: string, asked: Case): Promise<object> {
    const seconds = asked.timeout_seconds;
    const options = seconds === undefined ? {} : { timeoutMs: 1_000 * seconds };
    return { response: (await client.explain(await input(root, asked), options)).toJson() };
  },

  async stream(client: AnyClient, root: string, asked: Case): Promise<object> {
    const progress: [number, number][] = [];
    let response: unknown;
    for await (const event of client.explainStream(await input(root, asked))) {
      if (event.type === "progress") progress.push([event.done, event.planned]);
      else response = event.explanations.toJson();
    }
    return { response, progress };
  },

  async describe(client: AnyClient, root: string, asked: Case): Promise<object> {
    const model = await client.describe(await file(root, asked.model));
    const json = toJson(v1.ModelDescriptionSchema, model, { alwaysEmitImplicit: true });
    return { response: { model: json } };
  },

  async describe_table(client: AnyClient, root: string, asked: Case): Promise<object> {
    const found = await client.describeTable(await tableInput(root, asked));
    const json = toJson(v1.DescribeTableResponseSchema, found, { alwaysEmitImplicit: true });
    return { response: json };
  },

  async check(client: AnyClient, root: string, asked: Case): Promise<object> {
    const found = await client.checkModel((await tableInput(root, asked)) as CheckModelInput);
    const json = toJson(v1.CheckModelResponseSchema, found, { alwaysEmitImplicit: true });
    return { response: json };
  },

  async compare(client: AnyClient, _root: string, asked: Case): Promise<object> {
    const request = fromJson(
      v1.CompareExplanationsRequestSchema,
      asked.request as unknown as JsonValue,
    );
    const comparison = await client.compareExplanations(request);
    const found = create(v1.CompareExplanationsResponseSchema, { comparison });
    const json = toJson(v1.CompareExplanationsResponseSchema, found, { alwaysEmitImplicit: true });
    return { response: json };
  },

  async predict(client: AnyClient, root: string, asked: Case): Promise<object> {
    const found = await client.predict((await tableInput(root, asked)) as PredictInput);
    const json = toJson(v1.PredictResponseSchema, found, { alwaysEmitImplicit: true });
    return { response: json };
  },

  async upload(client: AnyClient, root: string, asked: Case): Promise<object> {
    const model = await client.uploadModel(
      asked.model_files ? await modelFiles(root, asked) : stream(root, asked.model),
    );
    const table = await client.uploadTable(stream(root, asked.table));
    const found = await client.explain({ ...asked.request, model, table });
    return { response: found.toJson(), ids: { model: model.id, table: table.id } };
  },

  async cancel(client: AnyClient, root: string, asked: Case): Promise<object> {
    const given = await input(root, asked);
    const signal = AbortSignal.timeout(1_000 * (asked.cancel_after_seconds ?? 0));
    return { response: (await client.explain(given, { signal })).toJson() };
  },
};

async function answer(client: AnyClient, root: string, asked: Case): Promise<object> {
  try {
    return await CALLS[asked.call](client, root, asked);
  } catch (error) {
    if (!(error instanceof ExplainError)) throw error;
    const { reason, message, field, code } = error;
    return { error: { reason, message, field, code } };
  }
}

async function input(root: string, asked: Case): Promise<ExplainInput> {
  const { model, table, ...request } = asked.request;
  return {
    ...request,
    methods: request.methods ?? [],
    model: model ? new ModelRef(model.id) : asked.model && (await modelFiles(root, asked)),
    table: table
      ? new TableRef(table.id)
      : (asked.columns ?? (asked.table && (await file(root, asked.table)))),
  } as ExplainInput;
}

/** What is asked about rows, which no method explains. */
async function tableInput(root: string, asked: Case): Promise<DescribeTableInput> {
  const { methods: _, ...given } = await input(root, asked);
  return given as DescribeTableInput;
}

async function file(root: string, path: string | undefined): Promise<Bytes> {
  return new Uint8Array(await readFile(join(root, path ?? "")));
}

/** A model, with the files beside it if there are any. */
async function modelFiles(root: string, asked: Case): Promise<Bytes | ModelFiles> {
  const model = await file(root, asked.model);
  const files: Record<string, Bytes> = {};
  for (const name of asked.model_files ?? []) {
    files[name] = await file(root, join(dirname(asked.model ?? ""), name));
  }
  return asked.model_files ? new ModelFiles(model, files) : model;
}

function stream(root: string, path: string | undefined): Bytes {
  return createReadStream(join(root, path ?? ""));
}

/** What of TLS the environment tells; a certificate only where the server asks for one. */
async function tls(): Promise<Pick<GrpcConnectOptions, "tls">> {
  const { ONNXPLAIN_CA_FILE, ONNXPLAIN_CERTIFICATE_FILE, ONNXPLAIN_KEY_FILE } = process.env;
  if (ONNXPLAIN_CA_FILE === undefined) return {};
  const ca = await readFile(ONNXPLAIN_CA_FILE);
  if (ONNXPLAIN_CERTIFICATE_FILE === undefined) return { tls: { ca } };
  const cert = await readFile(ONNXPLAIN_CERTIFICATE_FILE);
  return { tls: { ca, cert, key: await readFile(ONNXPLAIN_KEY_FILE ?? "") } };
}

async function open(isRest: boolean): Promise<AnyClient> {
  const token = process.env.ONNXPLAIN_TOKEN;
  const options = token ? { token } : {};
  if (isRest) return connectRest(process.env.ONNXPLAIN_URL, options);
  const endpoint = process.env.ONNXPLAIN_ENDPOINT;
  return connect(endpoint, { ...options, ...(await tls()) }) as AnyClient;
}

const { values, positionals } = parseArgs({
  options: { rest: { type: "boolean", default: false } },
  allowPositionals: true,
});
const [root = "", out = "", ...names] = positionals;
for (const name of names) {
  const path = join(root, "conformance", "cases", `${name}.json`);
  const client = await open(values.rest);
  const found = await answer(client, root, JSON.parse(await readFile(path, "utf8")));
  client.close();
  await writeFile(join(out, `${name}.json`), JSON.stringify(found));
}
