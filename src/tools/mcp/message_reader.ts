import type { JSONRPCMessage, RequestId } from "./sdk.ts";
import { markInexactNumbers, markNonFinite } from "./marked_numbers.ts";
import { isJsonObject } from "../../json.ts";

/** Kind of a text of a server. */
export type ReadText =
  /** Messages; a batch has several. */
  | { readonly kind: "messages"; readonly messages: readonly JSONRPCMessage[] }
  /** An unreadable response; `id` is the request's id, if the text states an id. */
  | { readonly kind: "unreadable"; readonly id: RequestId | undefined; readonly fault: string }
  /** Any other text, such as a log line. */
  | { readonly kind: "noise" };

/** Number of characters of a text that an error quotes. */
const QUOTED = 200;
/** Characters at the end of a text in which the id of the request is searched. */
const TAIL = 200;
const INTERNAL_ERROR = -32603;
const NOISE: ReadText = { kind: "noise" };

/**
 * Reads a text of a server as JSON-RPC messages, as far as the meaning is clear: `NaN` and `Infinity` are numbers, a
 * text before the message is ignored, and members that are null or missing without a need are filled in. A text that
 * begins like a response and is no response is reported as unreadable, so that the call does not wait for the time
 * limit.
 */
export function readMessages(text: string): ReadText {
  const value = parseText(text);
  if (value === undefined) return looksLikeResponse(text) ? unreadable(text, "is no JSON") : NOISE;
  if (!Array.isArray(value)) return readMessage(value, text);
  const messages = value.flatMap((each) => {
    const read = readMessage(each, text);
    return read.kind === "messages" ? read.messages : [];
  });
  return messages.length === 0 ? NOISE : { kind: "messages", messages };
}

function readMessage(value: unknown, text: string): ReadText {
  if (!isJsonObject(value)) return NOISE;
  const { id, method, result, error, params } = value;
  const hasId = typeof id === "number" || typeof id === "string";
  if (typeof method === "string") {
    if (params !== undefined && params !== null && !isJsonObject(params)) return NOISE;
    const message = { jsonrpc: "2.0" as const, method, ...(isJsonObject(params) && { params }) };
    return { kind: "messages", messages: [hasId ? { ...message, id } : message] };
  }
  if (!isResponse(value)) return NOISE;
  if (error !== undefined && error !== null) {
    const failure = toError(error);
    if (!hasId) return { kind: "unreadable", id: undefined, fault: failure.message };
    return { kind: "messages", messages: [{ jsonrpc: "2.0", id, error: failure }] };
  }
  if (!hasId || !isJsonObject(result)) {
    return unreadable(text, "has no result that is an object", hasId ? id : undefined);
  }
  const { _meta, ...rest } = result;
  return {
    kind: "messages",
    messages: [{ jsonrpc: "2.0", id, result: "protocolVersion" in rest ? toHandshake(rest) : rest }],
  };
}

/** True if an object is a response: the object says so, or has no other members than a response. */
function isResponse(value: Readonly<Record<string, unknown>>): boolean {
  const names = Object.keys(value);
  const members = names.filter((name) => ["id", "result", "error"].includes(name));
  return value.jsonrpc === undefined
    ? members.length > 1 && members.length === names.length
    : members.length > 0;
}

function toError(error: unknown): { code: number; message: string; data?: unknown } {
  const { code, message, data } = Object(error);
  const details = data ?? (isJsonObject(error) ? undefined : error);
  return {
    code: Number.isSafeInteger(code) ? code : INTERNAL_ERROR,
    message: hasText(message) ? message : describeError(code, details),
    ...(data !== undefined && { data }),
  };
}

function hasText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

function describeError(code: unknown, details: unknown): string {
  const number = Number.isSafeInteger(code) ? ` ${code}` : "";
  const shown = details === undefined || details === null ? "" : `: ${shorten(JSON.stringify(details))}`;
  return `the server answered with error${number} and no message${shown}`;
}

/** Returns the result of `initialize` without members that are null, and with a name of the server. */
function toHandshake(result: Record<string, unknown>): Record<string, unknown> {
  const { capabilities, serverInfo, ...rest } = withoutNulls(result) as Record<string, unknown>;
  return {
    ...rest,
    capabilities: isJsonObject(capabilities) ? capabilities : {},
    serverInfo: { name: "", version: "", ...(isJsonObject(serverInfo) && serverInfo) },
  };
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([, member]) => member !== null).map((
      [key, member],
    ) => [key, withoutNulls(member)]),
  );
}

/** Returns the value of a text, which may have other text before the message, or `undefined` if the text is no JSON. */
function parseText(text: string): unknown {
  const start = text.search(/\{\s*"jsonrpc"\s*:/);
  for (const candidate of start > 0 ? [text, text.slice(start)] : [text]) {
    const trimmed = candidate.trim(); // a byte order mark counts as space
    const value = parseJson(trimmed) ?? parseJson(markNonFinite(trimmed));
    if (value !== undefined) return value;
  }
  return undefined;
}

function parseJson(json: string): unknown {
  try {
    return markInexactNumbers(JSON.parse(json), json);
  } catch {
    return undefined; // the caller tries another reading
  }
}

/** The start of a message as programs print it: of JSON, or of an object of Python or JavaScript. */
const HEAD = /\{\s*["']?(?:jsonrpc|id|result|error)["']?\s*:/;
const BODY = /["']?\b(?:result|error)["']?\s*:/;

/** True if a text that is no JSON begins like a response. */
function looksLikeResponse(text: string): boolean {
  const start = text.search(HEAD);
  if (start < 0 || !/["']?\bjsonrpc["']?\s*:/.test(text)) return false;
  const body = text.search(BODY);
  return !/["']?\bmethod["']?\s*:/.test(text.slice(start, body < 0 ? undefined : body));
}

function unreadable(text: string, what: string, id: RequestId | undefined = idOf(text)): ReadText {
  return {
    kind: "unreadable",
    id,
    fault: `the server answered with a text that ${what}: '${shorten(text.trim())}'`,
  };
}

/** Returns the id that a response states before the result, or else at the end. */
function idOf(text: string): RequestId | undefined {
  const body = text.search(BODY);
  const head = body < 0 ? text : text.slice(0, body);
  const [found] = [...ids(head), ...ids(body < 0 ? "" : text.slice(body).slice(-TAIL)).toArray().reverse()];
  return found;
}

function ids(text: string): IteratorObject<RequestId> {
  const found = text.matchAll(/["']?\bid["']?\s*:\s*(?:(\d+)|"([^"\\]*)"|'([^'\\]*)')/g);
  return found.map(([, digits, double, single]) =>
    digits === undefined ? double ?? single ?? "" : Number(digits)
  );
}

function shorten(text: string): string {
  return text.length > QUOTED ? `${text.slice(0, QUOTED)}…` : text;
}

/** Returns the response to a call whose own response cannot be read. */
export function toFailure(id: RequestId, message: string): JSONRPCMessage {
  return { jsonrpc: "2.0", id, error: { code: INTERNAL_ERROR, message } };
}
