import { GatewayError } from "../gateway_error.ts";
import { callGrammar } from "../grammar/call_grammar.ts";
import type { ModelRequest, Sampling, ToolChoice } from "../model_request.ts";
import type { GatewaySessionOptions } from "./session_options.ts";
import type { PromptWriter } from "./prompt_writer.ts";
import type { TurnFacts } from "./session_row.ts";

/** What the parameters of a turn depend on beside its request. */
export interface TurnSamplingOptions {
  readonly prompt: PromptWriter["prompt"];
  /** Choice of tools that is enforced. @default the model chooses */
  readonly toolChoice: ToolChoice | undefined;
  readonly session: Pick<
    GatewaySessionOptions,
    "sampling" | "samplingFrom" | "contextTokens" | "format" | "callSyntax"
  >;
}

/**
 * Returns the parameters of a turn. The reply gets what the prompt leaves of the context.
 *
 * @throws {GatewayError} `context_length` if nothing is left; `invalid` if the choice of tools cannot be enforced.
 */
export function samplingOf(
  { sampling, tools, toolChoice: { mode } }: ModelRequest,
  { prompt: { ids, text }, toolChoice, session }: TurnSamplingOptions,
): Sampling {
  const { sampling: own = {}, samplingFrom = "session", contextTokens = Infinity } = session;
  const merged = samplingFrom === "session" ? { ...sampling, ...own } : { ...own, ...sampling };
  const left = contextTokens - ids.length;
  if (left < 1) throw contextError({ prompt: ids.length, limit: contextTokens });
  const limits = [sampling.maxTokens, own.maxTokens, left].filter((limit) => limit !== undefined);
  const maxTokens = Math.min(...limits);
  // a reply that must be JSON of the schema could call no tool
  const jsonSchema = tools.length > 0 && mode !== "none" ? undefined : merged.jsonSchema;
  const isByGrammar = toolChoice !== undefined && session.format !== undefined && jsonSchema === undefined;
  const grammar = isByGrammar
    ? callGrammar(toolChoice, {
      tools,
      syntax: session.callSyntax,
      isThinking: text.trimEnd().endsWith("<think>"),
    })
    : undefined;
  return { ...merged, jsonSchema, grammar, maxTokens: maxTokens === Infinity ? undefined : maxTokens };
}

/** Returns what constrains a reply, if anything does. */
export function constraintOf({ grammar, jsonSchema }: Sampling): TurnFacts["constraint"] {
  return grammar !== undefined ? "tool_choice" : jsonSchema !== undefined ? "schema" : undefined;
}

/** Returns the error of a prompt that is too long, with both numbers, which Claude Code reads out of the message. */
export function contextError(tokens: { prompt: number; limit: number }, cause?: unknown): GatewayError {
  const message = `prompt is too long: ${tokens.prompt} tokens > ${tokens.limit} maximum`;
  return new GatewayError("context_length", message, { cause, tokens });
}
