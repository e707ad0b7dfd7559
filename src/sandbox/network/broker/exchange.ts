import type { RequestHead } from "./request_head.ts";

/** Parts of a request that tell it from others, in a profile's `network.match`. */
export interface ExchangeMatch {
  /** Names of headers, in lower case. */
  readonly headers: readonly string[];
  readonly query: boolean;
  readonly body: boolean;
}

/** A request as fixtures store it: the parts that count. */
export interface RecordedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body in base64. Absent if there is none, or bodies do not count. */
  readonly body?: string | undefined;
}

/** A response as fixtures store it. */
export interface RecordedResponse {
  readonly status: number;
  readonly reason: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The body without the framing of its transfer, in base64. */
  readonly body: string;
}

/** A request with its response. */
export interface Exchange {
  readonly request: RecordedRequest;
  readonly response: RecordedResponse;
}

/** A request whose body has arrived. */
export interface WholeRequest {
  readonly head: RequestHead;
  readonly body: Uint8Array;
}

/** Maximum size of the body of a recorded request or response, in bytes. */
export const MAX_BODY_BYTES = 8 * 1024 * 1024;

/** Returns the parts of a request that count. `origin` is scheme, host and port of the connection. */
export function toRecordedRequest(
  { head, body }: WholeRequest,
  { origin, match }: { origin: string; match: ExchangeMatch },
): RecordedRequest {
  const target = match.query ? head.target : head.target.replace(/\?.*$/, "");
  const counted = head.headers.filter(([name]) => match.headers.includes(name));
  return {
    method: head.method,
    url: `${origin}${target}`,
    headers: Object.fromEntries(counted.toSorted(([one], [other]) => one < other ? -1 : 1)),
    ...(match.body && body.length > 0 && { body: body.toBase64() }),
  };
}

/** Returns text that is equal for requests of which the counted parts are. */
export function requestKey({ method, url, headers, body = "" }: RecordedRequest): string {
  return JSON.stringify([method, url, Object.entries(headers), body]);
}

/** Returns a response as a server sends it. */
export function toResponseBytes(
  { status, reason, headers, body }: RecordedResponse,
  method: string,
): Uint8Array {
  const bytes = Uint8Array.fromBase64(body);
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
  const isBodiless = method === "HEAD" || status === 204 || status === 304;
  if (!isBodiless) lines.push(`content-length: ${bytes.length}\r\n`);
  const head = `HTTP/1.1 ${status} ${reason}\r\n${lines.join("")}\r\n`;
  const joined = new Uint8Array(head.length + bytes.length);
  for (let at = 0; at < head.length; at++) joined[at] = head.charCodeAt(at);
  joined.set(bytes, head.length);
  return joined;
}

/** Fixtures by their requests. A request that occurs again gets the next response, and at the end the last one again. */
export class ExchangeIndex {
  readonly #byKey = new Map<string, RecordedResponse[]>();

  constructor(exchanges: readonly Exchange[]) {
    for (const { request, response } of exchanges) {
      const key = requestKey(request);
      const found = this.#byKey.get(key);
      if (found) found.push(response);
      else this.#byKey.set(key, [response]);
    }
  }

  /** Returns a reader for one session, which begins with the first response to each request. */
  open(): (request: RecordedRequest) => RecordedResponse | undefined {
    const counts = new Map<string, number>();
    return (request) => {
      const key = requestKey(request);
      const responses = this.#byKey.get(key) ?? [];
      const count = counts.get(key) ?? 0;
      counts.set(key, count + 1);
      return responses[Math.min(count, responses.length - 1)];
    };
  }
}
