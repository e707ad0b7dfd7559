/** The head of a request of HTTP/1.1, of which every reader must see the same request. */
export interface RequestHead {
  readonly method: string;
  readonly target: string;
  /** Headers in their order, with names in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Size of the body, `chunked` if its pieces name their sizes. */
  readonly body: number | "chunked";
  /** True if the request asks to continue with WebSocket. */
  readonly isUpgrade: boolean;
}

/** The error of a request that must not be sent. */
export class RequestError extends Error {}

/** Maximum size of a head, in bytes. */
export const MAX_HEAD_BYTES = 32 * 1024;
const MAX_HEADERS = 200;
/** Size of a body, in digits: the largest number that is exact has 16. */
const LENGTH = /^\d{1,15}$/;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const REQUEST_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\S+) HTTP\/1\.([01])$/;
/** A target of this server: a path, or `*`. Others name a server themselves. */
const TARGET = /^(?:\/[\x21-\x7e\x80-\xff]*|\*)$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Headers that `Connection` must not name, as a proxy would remove them. */
const KEPT: readonly string[] = ["host", "content-length", "transfer-encoding", "authorization", "cookie"];

/**
 * Parses a head without its empty line, each byte as a character.
 *
 * @param authority Host and port of the connection, which `Host` must name.
 * @throws {RequestError} if the head is malformed, or two readers could see different requests.
 */
export function parseRequestHead(text: string, authority: { host: string; port: number }): RequestHead {
  const [line = "", ...lines] = text.split("\r\n");
  const [, method = "", target = "", minor] = REQUEST_LINE.exec(line) ?? [];
  if (method === "") {
    throw new RequestError("it is not HTTP/1.1: list the host with 'tcp://' for other protocols");
  }
  if (!TARGET.test(target)) throw new RequestError("its target must be a path");
  if (lines.length > MAX_HEADERS) throw new RequestError(`it has more than ${MAX_HEADERS} headers`);
  const headers = lines.map(parseHeader);
  requireHost(headers, authority, minor === "1");
  const body = bodyOf(headers, minor === "1");
  return { method, target, headers, body, isUpgrade: upgrades(headers) };
}

function parseHeader(line: string): readonly [string, string] {
  const colon = line.indexOf(":");
  const [name, value] = [line.slice(0, colon), line.slice(colon + 1)];
  if (colon < 1 || !TOKEN.test(name) || !VALUE.test(value)) throw new RequestError("a header is malformed");
  return [name.toLowerCase(), value.replace(/^[\t ]+|[\t ]+$/g, "")];
}

/** Returns the values of the headers with a name. */
export function headerValues(headers: RequestHead["headers"], name: string): string[] {
  return headers.filter(([each]) => each === name).map(([, value]) => value);
}

function requireHost(
  headers: RequestHead["headers"],
  { host, port }: { host: string; port: number },
  isRequired: boolean,
): void {
  const [value, ...more] = headerValues(headers, "host");
  if (more.length > 0 || (value === undefined && isRequired)) {
    throw new RequestError("it must have one header 'Host'");
  }
  const allowed = [host, `${host}:${port}`];
  if (value !== undefined && !allowed.includes(value.toLowerCase())) {
    throw new RequestError(`its header 'Host' must name '${host}', the host of the connection`);
  }
}

function bodyOf(headers: RequestHead["headers"], mayChunk: boolean): number | "chunked" {
  const lengths = headerValues(headers, "content-length");
  const encodings = headerValues(headers, "transfer-encoding");
  if (lengths.length + encodings.length > 1) {
    throw new RequestError("it must have one of 'Content-Length' and 'Transfer-Encoding', and once");
  }
  const [length] = lengths;
  if (length !== undefined && !LENGTH.test(length)) {
    throw new RequestError("its 'Content-Length' must be a number");
  }
  const [encoding] = encodings;
  if (encoding === undefined) return length === undefined ? 0 : Number(length);
  if (!mayChunk || encoding.toLowerCase() !== "chunked") {
    throw new RequestError("its 'Transfer-Encoding' must be 'chunked'");
  }
  return "chunked";
}

function upgrades(headers: RequestHead["headers"]): boolean {
  const options = headerValues(headers, "connection").join(",").toLowerCase().split(",")
    .map((option) => option.trim());
  const kept = options.find((option) => KEPT.includes(option));
  if (kept !== undefined) throw new RequestError(`its 'Connection' must not name '${kept}'`);
  const protocols = headerValues(headers, "upgrade");
  if (protocols.length === 0) return false;
  if (protocols.length > 1 || protocols[0]?.toLowerCase() !== "websocket" || !options.includes("upgrade")) {
    throw new RequestError("its 'Upgrade' must be 'websocket'");
  }
  return true;
}
