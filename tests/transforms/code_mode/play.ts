import {
  ChatEnv,
  PythonInterpreter,
  replyAction,
  type SandboxPool,
  type Step,
  ToolTransform,
  TransformedEnv,
} from "../../../mod.ts";
import type { ChatEnvOptions } from "../../../mod/envs.ts";
import type { Tool } from "../../../mod/tools.ts";
import type { PythonInterpreterOptions } from "../../../mod/transforms.ts";

/** Plays one reply with a Python block. */
export async function play(
  pool: SandboxPool,
  code: string,
  { tools, chat, ...options }: Omit<PythonInterpreterOptions, "pool"> & {
    tools: Tool[];
    chat?: ChatEnvOptions;
  },
): Promise<{ step: Step; prompt: string; shown: string }> {
  const transforms = [new PythonInterpreter({ pool, tools, ...options }), new ToolTransform({ tools: [] })];
  await using env = new TransformedEnv(new ChatEnv(chat), transforms);
  const { history } = await env.reset({ id: "1", query: "q" });
  const step = await env.step(replyAction(`~~~python\n${code}\n~~~`));
  return {
    step,
    prompt: JSON.stringify([...history.prompt]),
    shown: String([...step.history.prompt].at(-1)?.content),
  };
}
