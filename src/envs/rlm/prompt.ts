import type { Task } from "../../task.ts";

/** System message of an episode. */
export const RLM_SYSTEM: string =
  `You answer a question about a context that is too long for you to read. The context is the variable \`context\` of a \
Python session. Write Python in blocks that begin with a line \`\`\`python and end with a line \`\`\`. They run at once, \
variables are kept, and the next message has what they printed, cut where it is long.

Your code can ask a model that sees the text of your prompt alone:
- llm_query(prompt) returns its reply.
- llm_query_batched(prompts) asks several prompts at the same time and returns the replies in their order.
Look at parts of the context, put those that matter into prompts, and combine the replies.

End with FINAL(value) or FINAL_VAR("name of a variable") in your code, or with a line FINAL(your answer).`;

/** Characters of a context of text that the first prompt shows. */
const PREVIEW_CHARACTERS = 500;

/**
 * Returns the context of a task.
 *
 * @throws {TypeError} if there is none.
 */
export function contextOf({ id, fields = {} }: Task, key: string): unknown {
  const context = fields[key];
  if (context !== undefined && context !== null) return context;
  throw new TypeError(`Cannot reset env as task '${id}' must have the field '${key}' with its context`);
}

/** Returns what the first prompt says of a context. */
export function describeContext(context: unknown): string {
  if (typeof context === "string") {
    const preview = context.slice(0, PREVIEW_CHARACTERS);
    return `\`context\` is a text of ${context.length} characters. It begins with:\n${preview}`;
  }
  if (!Array.isArray(context)) return "`context` is a value of JSON.";
  const characters = context.reduce((sum, item) => sum + String(item).length, 0);
  return `\`context\` is a list of ${context.length} items of ${characters} characters together.`;
}
