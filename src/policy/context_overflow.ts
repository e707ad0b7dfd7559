import { serverErrorOf } from "./server_error.ts";

/** Response of a model server that gives no reply. */
export interface ServerRefusal {
  readonly status: number;
  /** The body: a JSON value, or the text if it is not JSON. */
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

/** Texts of servers that give no code of their own. */
const TEXTS: readonly RegExp[] = [
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
];

/** Statuses of servers that refuse a prompt. 413 is the answer of OpenAI-compatible services to a too large request. */
const STATUSES: ReadonlySet<number> = new Set([200, 400, 413, 422, 500]);

/**
 * Returns whether a server refused a prompt because prompt and reply exceed the model's context.
 *
 * OpenAI and llama.cpp have a code for that. vLLM answers 400 with the type `BadRequestError`, and SGLang 400 with only a
 * message, or ends the reply with the reason `abort`: only their texts tell the refusal from others.
 */
export function isContextOverflow({ status, body }: ServerRefusal): boolean {
  if (status === 413) return true;
  if (!STATUSES.has(status)) return false;
  const fields = serverErrorOf(body);
  if (CODES.has(fields.code) || CODES.has(fields.type) || PARAMS.has(fields.param)) return true;
  return TEXTS.some((text) => text.test(fields.message));
}
