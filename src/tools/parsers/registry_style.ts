import type { Message } from "../../message.ts";
import { registryFaultMessage } from "./fault_messages.ts";
import { resultJson } from "../result_text.ts";
import type { ToolCallParser, ToolResponse } from "./tool_call_parser.ts";

/** Options of parsers that answer all calls in a single block. */
export interface RegistryStyleOptions {
  /**
   * If true, a result `{ error: … }` counts as a failure of the tool, as in TorchRL.
   * @default true
   */
  errorKeyFails?: boolean | undefined;
}

/**
 * Returns the part of a parser that answers all calls of a message in a single `<tool_results>` block, with
 * results as indented ASCII JSON. The output of a tool cannot end the block or start another block: a
 * zero-width space breaks such tags.
 */
export function registryStyle(options: RegistryStyleOptions): Omit<ToolCallParser, "parse"> {
  const { errorKeyFails = true } = options;
  return {
    errorKeyFails,
    resultText: (value) => resultJson(value, { indent: 2, ascii: true }),
    faultText: registryFaultMessage,
    render: (answers, role) => [block(answers.filter(({ attempted: tried }) => tried), role)],
  };
}

function block(answers: readonly ToolResponse[], role: string): Message {
  const text = ["<tool_results>", ...answers.map(answerLine), "</tool_results>"].join("\n");
  const parts = answers.flatMap((answer) => answer.parts?.filter(({ type }) => type !== "text") ?? []);
  return { role, content: parts.length === 0 ? text : [{ type: "text", text }, ...parts] };
}

const BLOCK_TAG = /<(?=\/?tool_results)/gi;

function answerLine({ name, number, tag, ok, text }: ToolResponse): string {
  const call = `Tool ${name} (call ${number})`;
  const line = ok
    ? `${call}${tag === undefined ? "" : ` [tag: ${tag}]`} succeeded:\n  Result: ${text}`
    : `${call} failed:\n  Error: ${text}`;
  return line.replace(BLOCK_TAG, "<\u200b");
}
