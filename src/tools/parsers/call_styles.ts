import { llama3JsonCalls } from "./llama3_json_calls.ts";
import { mistralCalls } from "./mistral_calls.ts";
import { jsonCalls } from "./json_calls.ts";
import { openaiCalls } from "./openai_calls.ts";
import { pythonicCalls } from "./pythonic_calls.ts";
import { qwen25Calls } from "./qwen25_calls.ts";
import { tagCalls } from "./tag_calls.ts";
import type { ToolCallParser } from "./tool_call_parser.ts";
import { xmlCalls } from "./xml_calls.ts";

/** A syntax in which models write tool calls. */
export interface CallStyle {
  /** One line for the help text. */
  readonly about: string;
  /** True if a special token marks the calls. Servers remove such tokens from their text by default. */
  readonly hasSpecialTokens?: boolean;
  /** Makes a parser for this syntax. */
  readonly parser: () => ToolCallParser;
}

/** Tool-call syntaxes by name. Native `tool_calls` are read with each of them. */
export const CALL_STYLES: Readonly<Record<string, CallStyle>> = {
  tag: { about: "<tool>name, a line end, JSON, </tool> (the default)", parser: () => tagCalls() },
  xml: { about: '<tool name="…">JSON</tool>, answered in one block', parser: () => xmlCalls() },
  json: { about: "a reply that is one JSON object, with its calls in 'tools'", parser: () => jsonCalls() },
  openai: { about: "<tool_call>JSON</tool_call>, as Hermes and Qwen write it", parser: () => openaiCalls() },
  qwen25: {
    about: "the same, as SGLang reads it: each tag on its own line",
    parser: () => qwen25Calls(),
  },
  "llama3-json": {
    about: '{"name": …, "parameters": {…}}, as Llama 3 writes it',
    hasSpecialTokens: true,
    parser: () => llama3JsonCalls(),
  },
  mistral: {
    about: "[TOOL_CALLS] and a JSON list, as Mistral writes it",
    hasSpecialTokens: true,
    parser: () => mistralCalls(),
  },
  pythonic: { about: '[name(key="value")], as Llama 4 writes it', parser: () => pythonicCalls() },
};
