import type { Message } from "../message.ts";
import { registryFaultText } from "./fault_words.ts";
import { resultJson } from "./result_json.ts";
import type { ToolAnswer, ToolCallParser } from "./tool_call_parser.ts";

/** How results are judged where they are answered in one block. */
export interface RegistryStyleOptions {
  /** Whether a result `{ error: … }` counts as a failure of its tool, as upstream has it; true unless given. */
  errorKeyFails?: boolean | undefined;
}

/**
 * Answers all calls of a message in one `<tool_results>` block, results as indented JSON in ASCII. What a tool says
 * cannot end the block or begin another: its tags are broken by a zero-width space.
 */
export function registryStyle(options: RegistryStyleOptions): Omit<ToolCallParser, "parse"> {
  const { errorKeyFails = true } = options;
  return {
    errorKeyFails,
    resultText: (value) => resultJson(value, { indent: 2, ascii: true }),
    faultText: registryFaultText,
    render: (answers, role) => [block(answers.filter(({ tried }) => tried), role)],
  };
}

function block(answers: readonly ToolAnswer[], role: string): Message {
  const text = ["<tool_results>", ...answers.map(line), "</tool_results>"].join("\n");
  const parts = answers.flatMap((answer) => answer.parts?.filter(({ type }) => type !== "text") ?? []);
  return { role, content: parts.length === 0 ? text : [{ type: "text", text }, ...parts] };
}

const BLOCK_TAG = /<(?=\/?tool_results)/gi;

function line({ name, number, tag, ok, text }: ToolAnswer): string {
  const call = `Tool ${name} (call ${number})`;
  const told = ok
    ? `${call}${tag === undefined ? "" : ` [tag: ${tag}]`} succeeded:\n  Result: ${text}`
    : `${call} failed:\n  Error: ${text}`;
  return told.replace(BLOCK_TAG, "<\u200b");
}
