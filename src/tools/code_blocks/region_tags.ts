/**
 * Tags around parts of a reply that are no text to the user: thoughts, and results of tools. They are read in any case.
 */

/** Opening tag of a thought. */
export const THOUGHT = /<(think|thinking|thoughts?)>|\[think\]/i;
/** Closing tag of a thought. */
export const THOUGHT_END = /<\/(?:think|thinking|thoughts?)>|\[\/think\]/i;

/** Names of the tags for the results of tools. Models repeat them, with results that they made up. */
const OUTPUT_NAMES =
  "tool_results?|tool_responses?|tool_outputs?|function_results?|function_responses?|outputs?|" +
  "interpreter|execution_results?|execution_outputs?|results?|stdout|stderr|observations?|information";
/** Opening tag of results at the start of a line, perhaps behind closing tags. */
const OUTPUT = new RegExp(
  `^(?:[ \\t]*</\\w+>)*[ \\t]*(?:<(${OUTPUT_NAMES})(?:[ \\t][^<>]*)?>|\\[tool_results\\])`,
  "i",
);

/** An opening tag of a line. */
export interface RegionStart {
  /** Index of the tag, or of the closing tags before it. */
  readonly start: number;
  /** Index behind the tag. */
  readonly end: number;
  readonly closing: RegExp;
}

/** Finds the first opening tag of a thought in a line. */
export function findThought(line: string): RegionStart | undefined {
  const found = THOUGHT.exec(line);
  if (found === null) return undefined;
  const { 0: { length }, 1: name, index: start } = found;
  return { start, end: start + length, closing: closingTag(name, "think") };
}

/** Finds the opening tag of results at the start of a line. */
export function findOutput(line: string): RegionStart | undefined {
  const [head, name] = OUTPUT.exec(line) ?? [];
  return head === undefined
    ? undefined
    : { start: 0, end: head.length, closing: closingTag(name, "tool_results") };
}

/** Returns the pattern of the closing tag of a name, or of a name in brackets. */
export function closingTag(name: string | undefined, bracketed = ""): RegExp {
  return name === undefined ? new RegExp(`\\[/${bracketed}\\]`, "i") : new RegExp(`</${name}>`, "i");
}
