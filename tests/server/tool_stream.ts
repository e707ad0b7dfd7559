import type { Served, TestResponse } from "./served.ts";

/** An event of a stream. */
export interface StreamEvent {
  readonly name: string;
  // deno-lint-ignore no-explicit-any
  readonly data: any;
}

/** The events of a response. */
export interface EventReader {
  /** Returns the next event. It fails at the end. */
  next(): Promise<StreamEvent>;
  /** Leaves the stream. */
  cancel(): Promise<void>;
}

/** A streamed program whose calls a test answers. */
export interface ToolStream extends EventReader {
  /** Returns the `result` event's data. Other events before it are dropped. */
  result(): Promise<StreamEvent["data"]>;
}

/** A tool that takes any arguments. */
export const ANY_TOOL = { name: "f", description: "", parameters: { type: "object", properties: { x: {} } } };

/** Opens a session with tools and returns its path. */
export async function openWithTools(
  server: Served,
  { tools = [ANY_TOOL], headers }: { tools?: unknown[]; headers?: HeadersInit } = {},
): Promise<string> {
  const { status, body } = await server.send("POST", "/v1/sessions", { tools }, headers);
  if (status !== 201) throw new Error(JSON.stringify(body));
  return `/v1/sessions/${body.id}`;
}

/** Streams a program. */
export async function streamProgram(
  server: Served,
  path: string,
  { headers = {}, ...program }: { code: string; timeoutMs?: number; headers?: Record<string, string> },
): Promise<ToolStream> {
  const response = await server.app.request(`${path}/stream`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(program),
  });
  const { next, cancel } = await readStream(response);
  return {
    next,
    cancel,
    async result() {
      for (;;) {
        const { name, data } = await next();
        if (name === "result" || name === "error") return data;
      }
    },
  };
}

/** Returns the reader of a response's events. */
export async function readStream(response: Response): Promise<EventReader> {
  if (response.body === null || !response.ok) throw new Error(await response.text());
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const next = async (): Promise<StreamEvent> => {
    while (!text.includes("\n\n")) {
      const { done, value } = await reader.read();
      if (done) throw new Error("the stream has ended");
      text += value;
    }
    const end = text.indexOf("\n\n");
    const [, name = "", data = ""] = text.slice(0, end).match(/^event: (\w+)\ndata: (.*)$/s) ?? [];
    text = text.slice(end + 2);
    return { name, data: JSON.parse(data) };
  };
  return { next, cancel: () => reader.cancel() };
}

/** Answers a call. */
export async function answerCall(
  server: Served,
  path: string,
  { callId, headers, ...answer }: { callId: string; headers?: HeadersInit; value?: unknown; error?: unknown },
): Promise<TestResponse> {
  return await server.send("POST", `${path}/calls/${callId}`, answer, headers);
}
