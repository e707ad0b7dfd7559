/**
 * Refusals of prompts that exceed a model's context.
 *
 * This module reads texts of messages, which no other code does: vLLM, SGLang, Ollama and others are foreign servers that
 * send a general code or no code, so that only the text tells this refusal from a wrong option. A specific code decides
 * before any text.
 *
 * @module
 */

import { type ServerError, serverErrorOf } from "./server_error.ts";

/** Response of a model server that gives no reply. */
export interface ServerRefusal {
  readonly status: number;
  /** The body: a JSON value, or the text if the body is not JSON. */
  readonly body: unknown;
}

/** Values of `code` or `type` in an error of a server. */
const CODES: ReadonlySet<unknown> = new Set([
  "context_length_exceeded", // OpenAI, llama-cpp-python
  "exceed_context_size_error", // llama.cpp
  "model_context_window_exceeded", // Z.ai
  "ContextWindowExceededError", // LiteLLM
  "prompt_too_long",
]);

/** Values of `param` by which vLLM says that the prompt is what is too long, since the beginning of 2026. */
const PARAMS: ReadonlySet<unknown> = new Set(["input_tokens", "input_text"]);

/** Texts of servers that give no code of their own. Each text that this module reads is in this table. */
const TEXTS: {
  readonly overflow: readonly RegExp[];
  readonly limitTooLarge: RegExp;
  readonly contextLength: RegExp;
} = {
  /** A prompt that exceeds the context. */
  overflow: [
    /maximum context length/i, // vLLM, SGLang (prompt and reply together), OpenAI, Mistral
    /the model's context length/i, // SGLang's tokenizer manager, vLLM, Together
    /longer than the maximum model length/i, // vLLM's V1 engine
    /\bmax_tokens must be at least 1, got -\d/, // vLLM before 0.6: the tokens that are left for the reply
    /^Input length \(\d+ tokens\) exceeds the maximum allowed length/, // SGLang's scheduler
    /exceeds the available context size/i, // llama.cpp before October 2025
    /^Context size has been exceeded/i, // llama.cpp with a full cache, LM Studio
    /exceed context window of \d+/i, // llama-cpp-python
    /is greater than the context length/i, // LM Studio
    /`inputs` (?:must have less than \d+ tokens|tokens \+ `max_new_tokens` must be)/, // text-generation-inference
    /exceeded max context length/i, // Ollama
    /prompt is too long/i, // Anthropic
    /exceeds the context window/i, // OpenAI's and Azure's text, for gateways that drop the code
    /maximum prompt length is \d+/i, // xAI
    /input token count \(?\d+\)? exceeds/i, // Google
    /reduce the length of the (?:input )?(?:messages|prompt)/i, // Groq; others end with this
  ],
  /**
   * A limit of the reply that is refused: `max_tokens is too large: 8192. This model's maximum context length is 4096
   * tokens`, of vLLM.
   */
  limitTooLarge: /max_(?:completion_)?tokens['"`]? is too large(?:: (\d+))?/i,
  contextLength: /maximum context length is (\d+)/i,
};

/** Codes that servers give to every refused request, so that only the text tells the reason. */
const GENERAL_CODES: ReadonlySet<string> = new Set([
  "bad_request",
  "badrequesterror",
  "bad_request_error",
  "invalid_request",
  "invalid_request_error",
  "invalid_argument",
  "invalid_parameter_error",
  "internal_server_error",
  "server_error",
  "validation_error",
]);

/** A code, in contrast to a status as text (`400`) or a sentence. */
const CODE = /^[a-z][\w.-]*$/i;

/** Statuses of servers that refuse a prompt. 413 is the answer of OpenAI-compatible services to a too large request. */
const STATUSES: ReadonlySet<number> = new Set([200, 400, 413, 422, 500]);

/**
 * Returns whether a server refused a prompt because prompt and reply exceed the model's context.
 *
 * OpenAI and llama.cpp have a code for that. vLLM answers 400 with the type `BadRequestError`, and SGLang 400 with only a
 * message, or ends the reply with the reason `abort`: only their texts tell the refusal from others. A text does not
 * count beside the code of another error. A limit of the reply that no prompt would fit is a wrong option; a limit that
 * only the prompt's length makes too large is an overflow.
 */
export function isContextOverflow({ status, body }: ServerRefusal): boolean {
  if (status === 413) return true;
  if (!STATUSES.has(status)) return false;
  const fields = serverErrorOf(body);
  if (CODES.has(fields.code) || CODES.has(fields.type) || PARAMS.has(fields.param)) return true;
  if (hasOtherCode(fields) || hasTooLargeLimit(fields.message)) return false;
  return TEXTS.overflow.some((text) => text.test(fields.message));
}

function hasOtherCode({ code }: ServerError): boolean {
  return typeof code === "string" && CODE.test(code) && !GENERAL_CODES.has(code.toLowerCase());
}

/** Returns whether a text refuses a limit of the reply that is not below the context's length, or has no such figures. */
function hasTooLargeLimit(message: string): boolean {
  const [refusal, limit = Infinity] = TEXTS.limitTooLarge.exec(message) ?? [];
  const [, length = 0] = TEXTS.contextLength.exec(message) ?? [];
  return refusal !== undefined && Number(limit) >= Number(length);
}
