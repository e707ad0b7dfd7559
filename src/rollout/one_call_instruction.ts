/** Sentence of Qwen's chat templates about tool calls. */
const MANY_CALLS = "You may call one or more functions to assist with the user query.";

/** Replacement by slime's tau-bench agent, word for word. */
const ONE_CALL =
  " At each turn, you are allowed to call one or no function to assist with task execution using " +
  "<tools></tools> XML tags.\n" +
  "YOU MUST EXECUTE TOOLS TO MAKE ANY MODIFICATIONS OR CANCELLATIONS. " +
  "Each tool call leads to a message returned by the system.\n" +
  "NEVER confirm execution to the user without seeing confirmation from the tool system.\n";

/** Changes a prompt that allows several calls per reply to allow one. Other prompts stay unchanged. */
export function limitToOneCall(prompt: string): string {
  return prompt.replaceAll(MANY_CALLS, ONE_CALL);
}
