/** How the templates of Qwen's models offer tools. */
const MANY_CALLS = "You may call one or more functions to assist with the user query.";

/** What slime's agent for tau-bench writes in its place, word for word. */
const ONE_CALL =
  " At each turn, you are allowed to call one or no function to assist with task execution using " +
  "<tools></tools> XML tags.\n" +
  "YOU MUST EXECUTE TOOLS TO MAKE ANY MODIFICATIONS OR CANCELLATIONS. " +
  "Each tool call leads to a message returned by the system.\n" +
  "NEVER confirm execution to the user without seeing confirmation from the tool system.\n";

/** The prompt with one call in a reply allowed where its template allows several; else as it is. */
export function oneCallInstruction(prompt: string): string {
  return prompt.replaceAll(MANY_CALLS, ONE_CALL);
}
