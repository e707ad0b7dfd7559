import type { PolicyFault } from "../errors.ts";
import { bodyBytes } from "./body_bytes.ts";
import { connectionFault } from "./connection_fault.ts";
import { LONGEST_WAIT_MS } from "./longest_wait.ts";
import { askedDelayMs } from "./retry_delay.ts";

/** How {@linkcode postJson} asks. */
export interface PostJsonOptions {
  headers: Readonly<Record<string, string>>;
  /** Milliseconds until the whole answer must be there. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** What one request came to: the server's answer, or why there is none. */
export type Posted =
  | { readonly answer: unknown }
  | {
    readonly fault: PolicyFault;
    /** What went wrong, to stand behind the server's address. */
    readonly reason: string;
    readonly cause?: unknown;
    /** Milliseconds after which the server wants to be asked again. */
    readonly askedMs?: number | undefined;
  };

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const SHOWN_CHARACTERS = 300;
/** Statuses below 500 that another attempt may mend. */
const PASSING = [408, 425, 429];

/** Asks a server once. Rejects with the signal's reason alone. */
export async function postJson(url: URL, body: string, options: PostJsonOptions): Promise<Posted> {
  const { headers, timeoutMs, signal } = options;
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), Math.min(timeoutMs, LONGEST_WAIT_MS));
  const ended = AbortSignal.any(signal === undefined ? [late.signal] : [late.signal, signal]);
  try {
    const all = { "content-type": "application/json", ...headers };
    const response = await fetch(url, { method: "POST", headers: all, body, signal: ended });
    const bytes = response.body === null
      ? new Uint8Array()
      : await bodyBytes(response.body, MAX_ANSWER_BYTES);
    return judged(response, bytes && new TextDecoder().decode(bytes));
  } catch (cause) {
    signal?.throwIfAborted();
    if (late.signal.aborted) {
      return { fault: "timeout", reason: `must answer within ${timeoutMs} ms: it did not` };
    }
    return { fault: "unreachable", reason: `cannot be reached: ${connectionFault(cause)}`, cause };
  } finally {
    clearTimeout(timer);
  }
}

function judged(response: Response, text: string | null): Posted {
  const { status, statusText, headers, ok } = response;
  if (text === null) {
    return { fault: "bad_answer", reason: `must answer in ${MAX_ANSWER_BYTES} bytes: it has more` };
  }
  if (!ok) {
    const reason = `answered ${`${status} ${statusText}`.trim()}${explanation(text)}`;
    if (status < 500 && !PASSING.includes(status)) return { fault: "refused", reason };
    return { fault: "unavailable", reason, askedMs: askedDelayMs(headers.get("retry-after"), new Date()) };
  }
  try {
    return { answer: JSON.parse(text) };
  } catch (cause) {
    const found = text.trim() === "" ? "it is empty" : `it is '${shortened(text)}'`;
    return { fault: "bad_answer", reason: `must answer in JSON: ${found}`, cause };
  }
}

/** What a server says about its refusal, in the shapes that servers use. */
function explanation(text: string): string {
  const said = messageIn(text) ?? text;
  return said.trim() === "" ? "" : `: ${shortened(said)}`;
}

function messageIn(text: string): string | undefined {
  try {
    const { error, message, detail } = Object(JSON.parse(text));
    const said = [error?.message, error, message, detail].find((value) => typeof value === "string");
    return said === undefined ? undefined : String(said);
  } catch {
    return undefined; // no JSON: the text itself is shown
  }
}

function shortened(text: string): string {
  const line = text.trim().replace(/\s+/g, " ");
  return line.length > SHOWN_CHARACTERS ? `${line.slice(0, SHOWN_CHARACTERS)}…` : line;
}
