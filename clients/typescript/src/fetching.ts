/** How calls by fetch are made, and how they fail. */

import { type DescMessage, fromJsonString, type MessageShape } from "@bufbuild/protobuf";
import type { Content } from "./bodies.js";
import { Deadline } from "./deadline.js";
import { events, type ServerEvent } from "./events.js";
import { REGISTRY } from "./operations/registry.js";
import { problemOf } from "./problems.js";
import { read } from "./sources.js";
import type { CallOptions } from "./terms.js";

/** How answers are read: those of newer servers may say more. */
export const LENIENT = { ignoreUnknownFields: true, registry: REGISTRY };

const JSON_TYPE = "application/json";
const EVENTS_TYPE = "text/event-stream";

/** Where a call goes, and what with. */
export interface Sent extends Partial<Content> {
  readonly route: string;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
}

/** Makes calls by fetch; every failure is an ExplainError. */
export class Fetching {
  /**
   * @param base address of the server; routes are relative to it
   * @param authorization makes the header of each call
   */
  constructor(
    private readonly base: URL,
    private readonly authorization: (() => Promise<string>) | undefined,
  ) {}

  /** Make a call, and read the message that answers it. */
  message<Answer extends DescMessage>(
    sent: Sent,
    answer: Answer,
    call: CallOptions,
  ): Promise<MessageShape<Answer>> {
    return this.text(sent, call, (text) => fromJsonString(answer, text, LENIENT));
  }

  /** Make a call, and read the text that answers it. */
  async text<Answer>(
    sent: Sent,
    call: CallOptions,
    toAnswer: (text: string) => Answer,
  ): Promise<Answer> {
    const shown = await this.shown();
    const deadline = new Deadline(call, this.base.host);
    try {
      const response = await this.fetched(sent, JSON_TYPE, shown, deadline);
      return toAnswer(await response.text());
    } catch (error) {
      throw deadline.told(error);
    } finally {
      deadline.leave();
    }
  }

  /** Make a call, and read the events that answer it; whoever leaves the loop ends the call. */
  async *events<Event>(
    sent: Sent,
    call: CallOptions,
    toEvent: (event: ServerEvent) => Event,
  ): AsyncGenerator<Event> {
    const shown = await this.shown();
    const deadline = new Deadline(call, this.base.host);
    try {
      const response = await this.fetched(sent, EVENTS_TYPE, shown, deadline);
      if (response.body === null) return;
      for await (const event of events(read(response.body))) yield toEvent(event);
    } catch (error) {
      throw deadline.told(error);
    } finally {
      deadline.leave();
    }
  }

  /** Whether a route answers without an error. */
  async isOk(route: string, call: CallOptions): Promise<boolean> {
    const deadline = new Deadline(call, this.base.host);
    try {
      const { signal } = deadline;
      return (await fetch(new URL(route, this.base), { signal })).ok;
    } catch (error) {
      throw deadline.told(error);
    } finally {
      deadline.leave();
    }
  }

  /** What shows who calls. */
  private async shown(): Promise<Record<string, string>> {
    return this.authorization === undefined ? {} : { Authorization: await this.authorization() };
  }

  private async fetched(
    { route, method, body, type }: Sent,
    accept: string,
    shown: Record<string, string>,
    deadline: Deadline,
  ): Promise<Response> {
    const headers = new Headers({ Accept: accept, ...shown, ...deadline.headers });
    if (type !== undefined) headers.set("Content-Type", type);
    const { signal } = deadline;
    const url = new URL(route, this.base);
    const response = await fetch(url, { method, headers, signal, body: body ?? null });
    if (!response.ok) throw await problemOf(response);
    return response;
  }
}
