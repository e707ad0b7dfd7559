import { createHash } from "node:crypto";
import * as z from "zod";
import type { ToolSpec } from "../../message.ts";
import { describeIssue } from "../../schema_words.ts";
import { GatewayError } from "../gateway_error.ts";
import type { ModelAnswer, ModelRequest, RetryMarks, Sampling } from "../model_request.ts";
import { canonicalJson } from "../session/message_key.ts";
import type { ResponseItems } from "./response_items.ts";

/** What a dialect gets beside the body of a request. */
export interface ParseContext {
  readonly retry: RetryMarks;
  /** Items of the session's earlier responses. */
  readonly items: ResponseItems;
}

/** Requests, answers and errors of one API. */
export interface Dialect {
  /**
   * Parses the JSON of a request.
   *
   * @throws {GatewayError} `invalid` if it is none, or asks for what the gateway does not have.
   */
  parse(body: unknown, context: ParseContext): ModelRequest;
  /** Keeps an answer, if later requests may name it. */
  remember?(answer: ModelAnswer, request: ModelRequest, items: ResponseItems): void;
  /** Returns the JSON of an answer. */
  toJson(answer: ModelAnswer, request: ModelRequest): object;
  /** Returns the events of a streamed answer. */
  toEvents(answer: ModelAnswer, request: ModelRequest): string[];
  /** Returns the JSON of an error. */
  toErrorJson(error: GatewayError): object;
  /** Returns the event of an error after the stream has begun. */
  toErrorEvent(error: GatewayError): string;
  /** Text that keeps the connection open while the model server samples. */
  readonly keepAlive: string;
}

/** Fields of a request that may differ between the repeats of a request, in all dialects. */
const VARIABLE_FIELDS: readonly string[] = [
  "stream",
  "stream_options",
  "max_tokens",
  "max_completion_tokens",
  "max_output_tokens",
  "metadata",
  "client_metadata",
  "user",
  "safety_identifier",
  "prompt_cache_key",
];

/** Returns a text that is equal for equal requests. */
export function identityOf(body: object): string {
  const fields = Object.entries(body).filter(([name]) => !VARIABLE_FIELDS.includes(name));
  return createHash("sha256").update(canonicalJson(Object.fromEntries(fields))).digest("base64url");
}

/** Parses a value by a schema. */
export function parseBody<T>(schema: z.core.$ZodType<T>, body: unknown): T {
  const parsed = z.safeParse(schema, body, { error: describeIssue });
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.slice(0, 8).map(({ path, message }) =>
    `${path.join(".").slice(0, 100) || "the request"}: ${message}`.slice(0, 300)
  );
  throw new GatewayError("invalid", issues.join("; "));
}

/** Schema of an optional number; null counts as missing. */
export const number: z.ZodType<number | undefined> = z.number().nullish().transform((value) =>
  value ?? undefined
);
/** Schema of an optional maximum of tokens. */
export const tokenLimit: z.ZodType<number | undefined> = z.int().min(1).nullish().transform((value) =>
  value ?? undefined
);
/** Schema of an object of any fields. */
export const anyObject: z.ZodType<Record<string, unknown>> = z.record(z.string(), z.unknown());

/** Joins the texts of content parts, as model servers do. */
export function joinTexts(texts: readonly string[]): string {
  return texts.join("\n");
}

/** Returns a tool as templates show it. */
export function toToolSpec(
  { name, description, parameters }: {
    name: string;
    description?: string | null | undefined;
    parameters?: Record<string, unknown> | null | undefined;
  },
): ToolSpec {
  return {
    name,
    description: description ?? "",
    parameters: parameters ?? { type: "object", properties: {} },
  };
}

/** Refuses an input by name. */
export function refuseInput(what: string): never {
  throw new GatewayError("invalid", `The gateway does not take ${what}: send text`);
}

/** Fields by which clients of vLLM and SGLang change the prompt or the sampling in ways that the gateway does not have. */
const SERVER_FIELDS: readonly string[] = [
  "allowed_token_ids",
  "bad_words",
  "chat_template",
  "chat_template_kwargs",
  "continue_final_message",
  "ebnf",
  "guided_choice",
  "guided_grammar",
  "guided_json",
  "guided_regex",
  "ignore_eos",
  "logit_bias",
  "min_tokens",
  "regex",
  "repetition_penalty",
  "stop_token_ids",
  "structural_tag",
  "structured_outputs",
  "top_logprobs",
];

/**
 * Refuses fields without which an answer would be another one.
 *
 * @throws {GatewayError} `invalid` if one of them is not empty.
 */
export function refuseFields(body: Readonly<Record<string, unknown>>, names: readonly string[]): void {
  const found = [...SERVER_FIELDS, ...names].find((name) => !isEmpty(body[name]));
  if (found === undefined) return;
  const advice = "leave the field out, or let the owner set the sampling of the session";
  throw new GatewayError("invalid", `The gateway does not take '${found}': ${advice}`);
}

function isEmpty(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === false || value === 0 || value === "";
}

/** Returns parameters without those that are missing. */
export function toSampling(sampling: Sampling): Sampling {
  return Object.fromEntries(Object.entries(sampling).filter(([, value]) => value !== undefined));
}

/** Returns an event of a stream. */
export function toEvent(data: object, name?: string): string {
  return `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** Codes of OpenAI's errors by fault. */
const OPENAI_CODES = {
  invalid: ["invalid_request_error", null],
  context_length: ["invalid_request_error", "context_length_exceeded"],
  rewritten: ["invalid_request_error", "message_rewritten"],
  ended: ["invalid_request_error", "session_ended"],
  unauthorized: ["invalid_request_error", "invalid_api_key"],
  forbidden: ["invalid_request_error", "forbidden"],
  not_found: ["invalid_request_error", "not_found"],
  too_large: ["invalid_request_error", "request_too_large"],
  busy: ["rate_limit_error", "rate_limit_exceeded"],
  bad_reply: ["server_error", "bad_model_reply"],
  unavailable: ["server_error", "model_server_unavailable"],
  timeout: ["server_error", "model_server_timeout"],
} as const;

/** Returns the JSON of an error in OpenAI's dialects. */
export function toOpenaiError({ fault, message }: GatewayError): {
  error: { message: string; type: string; param: null; code: string | null };
} {
  const [type, code] = OPENAI_CODES[fault];
  return { error: { message, type, param: null, code } };
}
