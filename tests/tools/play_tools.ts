import { ChatEnv } from "../../src/envs/chat_env.ts";
import { replyAction } from "../../src/envs/action.ts";
import type { Step } from "../../src/envs/env.ts";
import type { Tool } from "../../src/tools/tool.ts";
import type { ToolCallerOptions } from "../../src/tools/tool_caller.ts";
import { ToolTransform } from "../../src/transforms/tool_transform.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";

/** Returns a tool that accepts any arguments. */
export function anyTool(name: string, run: Tool["run"]): Tool {
  return { name, description: "", parameters: { type: "object" }, run };
}

/** Returns the step after a reply to a task, with these tools. */
export async function stepWithTools(
  reply: string,
  tools: Iterable<Tool>,
  { signal, ...rest }: ToolCallerOptions & { signal?: AbortSignal } = {},
): Promise<Step> {
  await using env = new TransformedEnv(new ChatEnv(), [new ToolTransform({ tools, ...rest })]);
  await env.reset({ id: "t", query: "q" });
  return await env.step(replyAction(reply), { signal });
}

/** Returns the contents of the tool messages after a reply. */
export async function answersTo(
  reply: string,
  tools: Iterable<Tool>,
  options: ToolCallerOptions = {},
): Promise<unknown[]> {
  const { history } = await stepWithTools(reply, tools, options);
  return history.prompt.toChats().slice(2).map(({ content }) => content);
}
