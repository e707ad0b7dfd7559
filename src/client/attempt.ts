import { SandboxError } from "../errors.ts";
import { bodyBytes } from "../policy/body_bytes.ts";
import { connectionFault, neverConnected } from "../policy/connection_fault.ts";
import { LONGEST_WAIT_MS } from "../policy/longest_wait.ts";
import { askedDelayMs } from "../policy/retry_delay.ts";
import { unlessAborted } from "../sandbox/unless_aborted.ts";
import { V1_FORMAT, V1_FORMAT_HEADER } from "../wire/v1.ts";
import type { AnswerBody } from "./answer_body.ts";
import { readRefusal, type Refusal, refusalError } from "./refusal.ts";

/** Asks a server, as the global `fetch` does. */
export type Fetch = (request: Request) => Response | Promise<Response>;

/** How {@linkcode attempt} asks. */
export interface AttemptOptions<T> {
  fetch: Fetch;
  /** What is tried, to stand behind `Cannot` in errors. */
  doing: string;
  /** Milliseconds until the whole answer must be there. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** Makes something of an answer that is no failure. */
  read: (body: AnswerBody) => Promise<T>;
}

/**
 * Why there is no answer: the request was `never` sent, so that it may be sent again; it was `lost` on the way, or
 * is `late`, so that it may be done; the server was `full` or `failed`; or what it says is `final`.
 */
export type AttemptFault = "never" | "lost" | "late" | "full" | "failed" | "final";

/** What one request came to. */
export type Attempted<T> =
  | { readonly answer: T }
  | {
    readonly error: Error;
    readonly fault: AttemptFault;
    /** Milliseconds after which the server wants to be asked again. */
    readonly askedMs?: number | undefined;
  };

const MAX_REFUSAL_BYTES = 1024 * 1024;
const FAULTS: Readonly<Record<number, AttemptFault>> = {
  408: "failed",
  429: "full",
  502: "lost",
  503: "failed",
  504: "full",
};

/** A connection that broke while an answer was read. */
class Lost extends Error {}

/** Asks a server once. Rejects with the signal's reason, or with what `read` throws. */
export async function attempt<T>(request: Request, options: AttemptOptions<T>): Promise<Attempted<T>> {
  const { fetch, doing, timeoutMs, signal, read } = options;
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), Math.min(timeoutMs, LONGEST_WAIT_MS));
  const ended = AbortSignal.any(signal === undefined ? [late.signal] : [late.signal, signal]);
  const { origin } = new URL(request.url);
  const failed = (reason: string, cause?: unknown) =>
    new SandboxError(`Cannot ${doing} as ${origin} ${reason}`, { cause });
  let response: Response | undefined;
  try {
    response = await reached(Promise.try(fetch, new Request(request, { signal: ended })), ended);
    const format = Number(response.headers.get(V1_FORMAT_HEADER) ?? V1_FORMAT);
    if (format > V1_FORMAT) {
      return {
        error: failed(`speaks format ${format} of /v1: this client reads ${V1_FORMAT}`),
        fault: "final",
      };
    }
    const body = pieces(response, ended);
    if (!response.ok) return await refused(response, body, doing);
    return { answer: await read(body) };
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof Lost)) throw error;
    const { cause } = error;
    if (late.signal.aborted) {
      return { error: failed(`must answer within ${timeoutMs} ms: it did not`), fault: "late" };
    }
    const never = response === undefined && neverConnected(cause);
    const unreached = failed(`cannot be reached: ${connectionFault(cause)}`, cause);
    return { error: unreached, fault: never ? "never" : "lost" };
  } finally {
    clearTimeout(timer);
    response?.body?.cancel().catch(() => {}); // where nobody reads it
  }
}

async function refused(
  response: Response,
  body: AnswerBody,
  doing: string,
): Promise<Attempted<never>> {
  const { status, headers } = response;
  const bytes = await bodyBytes(body, MAX_REFUSAL_BYTES);
  const moved = headers.get("location");
  const text = moved === null ? new TextDecoder().decode(bytes ?? undefined) : `it is at ${moved}`;
  const refusal = readRefusal(status, text);
  const askedMs = askedDelayMs(headers.get("retry-after"), new Date());
  return { error: refusalError(doing, refusal), fault: faultOf(status, refusal), askedMs };
}

/** A gateway that waited for the server in vain does not know whether it is at it. */
function faultOf(status: number, { type }: Refusal): AttemptFault {
  if (status === 504 && type === "") return "lost";
  return FAULTS[status] ?? "final";
}

async function* pieces(
  { body }: Response,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array<ArrayBuffer>, undefined> {
  const reader = body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await reached(reader.read(), signal);
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {}); // nobody reads what is left
  }
}

/** Tells what a connection throws from what whoever reads it throws. */
async function reached<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await unlessAborted(work, signal);
  } catch (cause) {
    throw new Lost("the connection broke", { cause });
  }
}
