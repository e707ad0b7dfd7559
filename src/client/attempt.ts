import { SandboxError } from "../errors.ts";
import { readBytes, sendRequest } from "../http/request.ts";
import { parseRetryAfter } from "../http/retry.ts";
import { HTTP_STATUS } from "../wire/error_codes.ts";
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
    readonly retryAfterMs?: number | undefined;
  };

const MAX_REFUSAL_BYTES = 1024 * 1024;
const BAD_GATEWAY = 502;
const FAULTS: Readonly<Record<number, AttemptFault>> = {
  [HTTP_STATUS.too_slow]: "failed",
  [HTTP_STATUS.busy]: "full",
  [BAD_GATEWAY]: "lost",
  [HTTP_STATUS.unavailable]: "failed",
  [HTTP_STATUS.timeout]: "full",
};

/** Sends a request once. Rejects with the signal's reason, or with what `read` throws. */
export async function attempt<T>(request: Request, options: AttemptOptions<T>): Promise<Attempted<T>> {
  const { fetch, doing, timeoutMs, signal, read } = options;
  const { origin } = new URL(request.url);
  const sent = await sendRequest((signal) => fetch(new Request(request, { signal })), {
    timeoutMs,
    signal,
    async read(response, body): Promise<Attempted<T>> {
      const format = Number(response.headers.get(V1_FORMAT_HEADER) ?? V1_FORMAT);
      if (format > V1_FORMAT) {
        const reason = `speaks format ${format} of /v1: this client reads ${V1_FORMAT}`;
        return { error: new SandboxError(`Cannot ${doing} as ${origin} ${reason}`), fault: "final" };
      }
      return response.ok ? { answer: await read(body) } : await refused(response, body, doing);
    },
  });
  if ("value" in sent) return sent.value;
  const fault = sent.fault === "timeout" ? "late" : sent.mayHaveArrived ? "lost" : "never";
  return {
    error: new SandboxError(`Cannot ${doing} as ${origin} ${sent.reason}`, { cause: sent.cause }),
    fault,
  };
}

async function refused(
  response: Response,
  body: AnswerBody,
  doing: string,
): Promise<Attempted<never>> {
  const { status, headers } = response;
  const bytes = await readBytes(body, MAX_REFUSAL_BYTES);
  const moved = headers.get("location");
  const text = moved === null ? new TextDecoder().decode(bytes ?? undefined) : `it is at ${moved}`;
  const refusal = readRefusal(status, text);
  const retryAfterMs = parseRetryAfter(headers.get("retry-after"), new Date());
  return { error: refusalError(doing, refusal), fault: faultOf(status, refusal), retryAfterMs };
}

/** A gateway that waited for the server in vain does not know whether it is at it. */
function faultOf(status: number, { type }: Refusal): AttemptFault {
  if (status === HTTP_STATUS.timeout && type === "") return "lost";
  return FAULTS[status] ?? "final";
}
