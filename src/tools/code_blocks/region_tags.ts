/**
 * Tags around the results of tools in a reply, which are no text to the user. They are read in any case.
 */

/** Names of the tags for the results of tools. Models repeat them, with results that they made up. */
const OUTPUT_NAMES =
  "tool_results?|tool_responses?|tool_outputs?|function_results?|function_responses?|outputs?|" +
  "interpreter|execution_results?|execution_outputs?|results?|stdout|stderr|observations?|information";
/** Opening tag of results at the start of a line, perhaps behind closing tags. */
const OUTPUT = new RegExp(
  `^(?:[ \\t]*</\\w+>)*[ \\t]*(?:<(${OUTPUT_NAMES})(?:[ \\t][^<>]*)?>|\\[tool_results\\])`,
  "i",
);

/**
 * Finds the opening tag of results at the start of a line. `end` is the index behind the tag, `closing` the pattern of
 * its closing tag.
 */
export function findOutput(line: string): { readonly end: number; readonly closing: RegExp } | undefined {
  const [head, name] = OUTPUT.exec(line) ?? [];
  return head === undefined ? undefined : { end: head.length, closing: closingTag(name, "tool_results") };
}

/** Returns the pattern of the closing tag of a name, or of a name in brackets. */
export function closingTag(name: string | undefined, bracketed = ""): RegExp {
  return name === undefined ? new RegExp(`\\[/${bracketed}\\]`, "i") : new RegExp(`</${name}>`, "i");
}
