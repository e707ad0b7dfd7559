import type { ToolCall } from "../../message.ts";
import { findElementCalls, isElementTemplate } from "./element_calls.ts";
import { isGemmaTemplate, splitGemmaReply } from "./gemma_calls.ts";
import { isHarmonyTemplate, splitHarmonyReply } from "./harmony.ts";
import { splitKimiReply } from "./kimi_calls.ts";
import {
  DSML,
  findDsmlCalls,
  findParameterCalls,
  MINIMAX_SYNTAX,
  splitFoundCalls,
} from "./parameter_calls.ts";

/** Parts of an assistant's text, in the fields of a chat template. */
export interface ReplyParts {
  /** Text without the other parts. */
  readonly content: string;
  readonly thinking?: string;
  readonly calls?: readonly ToolCall[];
}

/**
 * Returns the function that splits a reply for a template whose fields must be given apart: gpt-oss's template refuses
 * channels in a content, Gemma 4's, DeepSeek V3.2's, MiniMax M2's and M3's show results only after calls, and Kimi K2's
 * template names the ids of calls in results. Other templates take thoughts and calls as part of the content, and get
 * `undefined`.
 */
export function replySplitterOf(source: string): ((text: string) => ReplyParts) | undefined {
  if (isHarmonyTemplate(source)) return splitHarmonyReply;
  if (isGemmaTemplate(source)) return splitGemmaReply;
  if (source.includes("<|tool_call_argument_begin|>")) return splitKimiReply;
  if (source.includes(MINIMAX_SYNTAX.open)) return splitMinimaxReply;
  if (source.includes(DSML) && source.includes("<function_results>")) return splitDsmlReply;
  if (isElementTemplate(source)) return (text) => splitFoundCalls(text, findElementCalls(text));
  return undefined;
}

/** Splits a reply of MiniMax M2, whose template writes a line end before calls. */
function splitMinimaxReply(text: string): ReplyParts {
  const { content, calls } = splitFoundCalls(text, findParameterCalls(text, MINIMAX_SYNTAX));
  return calls === undefined ? { content } : { content: content.replace(/\n$/, ""), calls };
}

/** Splits a reply of DeepSeek V3.2, whose template writes two line ends before calls. */
function splitDsmlReply(text: string): ReplyParts {
  const { content, calls } = splitFoundCalls(text, findDsmlCalls(text));
  return calls === undefined ? { content } : { content: content.replace(/\n\n$/, ""), calls };
}
