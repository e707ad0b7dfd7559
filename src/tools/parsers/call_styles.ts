import { gemmaCalls } from "./gemma_calls.ts";
import { harmonyCalls } from "./harmony_calls.ts";
import { llama3JsonCalls } from "./llama3_json_calls.ts";
import { cohereCalls, deepseekCalls, graniteCalls, kimiCalls, lfm2Calls } from "./marked_calls.ts";
import { mistralCalls } from "./mistral_calls.ts";
import { jsonCalls } from "./json_calls.ts";
import { openaiCalls } from "./openai_calls.ts";
import { dsmlCalls, glmCalls, minimaxCalls, minimaxM3Calls, qwen3CoderCalls } from "./parameter_calls.ts";
import { pythonicCalls } from "./pythonic_calls.ts";
import { qwen25Calls } from "./qwen25_calls.ts";
import { tagCalls } from "./tag_calls.ts";
import type { ToolCallParser } from "./tool_call_parser.ts";
import { xmlCalls } from "./xml_calls.ts";

/** A syntax in which models write tool calls. */
export interface CallStyle {
  /** A line for the help text. */
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
  harmony: {
    about: "<|channel|>commentary to=functions.name<|message|>JSON<|call|>, as gpt-oss writes it",
    hasSpecialTokens: true,
    parser: () => harmonyCalls(),
  },
  deepseek: {
    about: "<｜tool▁call▁begin｜>name<｜tool▁sep｜>JSON<｜tool▁call▁end｜>, as DeepSeek V3 and R1 write it",
    hasSpecialTokens: true,
    parser: () => deepseekCalls(),
  },
  "deepseek-dsml": {
    about: '<｜DSML｜invoke name="name"><｜DSML｜parameter name="key" …>, as DeepSeek V3.2 and V4 write it',
    hasSpecialTokens: true,
    parser: () => dsmlCalls(),
  },
  kimi: {
    about: "<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>JSON, as Kimi K2 writes it",
    hasSpecialTokens: true,
    parser: () => kimiCalls(),
  },
  gemma: {
    about: '<|tool_call>call:name{key:<|"|>text<|"|>}<tool_call|>, as Gemma 4 writes it',
    hasSpecialTokens: true,
    parser: () => gemmaCalls(),
  },
  cohere: {
    about: "<|START_ACTION|>JSON<|END_ACTION|>, as Command A writes it",
    hasSpecialTokens: true,
    parser: () => cohereCalls(),
  },
  lfm2: {
    about: '<|tool_call_start|>[name(key="value")]<|tool_call_end|>, as LFM2 writes it',
    hasSpecialTokens: true,
    parser: () => lfm2Calls(),
  },
  granite: {
    about: "<|tool_call|>JSON, as Granite 3 and Phi 4 write it",
    hasSpecialTokens: true,
    parser: () => graniteCalls(),
  },
  "qwen3-coder": {
    about: "<function=name><parameter=key>…, as Qwen3-Coder, Qwen3.5 and Nemotron 3 write it",
    parser: () => qwen3CoderCalls(),
  },
  glm: {
    about: "<tool_call>name<arg_key>key</arg_key><arg_value>…, as GLM 4.5 writes it",
    parser: () => glmCalls(),
  },
  minimax: {
    about: '<minimax:tool_call><invoke name="name"><parameter name="key">…, as MiniMax M2 writes it',
    parser: () => minimaxCalls(),
  },
  "minimax-m3": {
    about: ']<]minimax[>[<invoke name="name"> and an element a parameter, as MiniMax M3 writes it',
    hasSpecialTokens: true,
    parser: () => minimaxM3Calls(),
  },
  pythonic: { about: '[name(key="value")], as Llama 4 writes it', parser: () => pythonicCalls() },
};
