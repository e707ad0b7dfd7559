import { ChatEnv } from "../../src/envs/chat_env.ts";
import { replyAction } from "../../src/envs/action.ts";
import type { TauBenchEnv } from "../../src/envs/tau_bench/tau_bench_env.ts";
import { RESPOND, type ToolUserAction, type ToolUserStep } from "../../src/envs/tool_user_env.ts";
import type { SessionPool } from "../../src/sandbox/contract/pool.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { PythonInterpreter } from "../../src/transforms/python_interpreter.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";

/** Takes the actions of an episode that has been reset, in order, and returns its steps. */
export type PlayActions = (env: TauBenchEnv, actions: readonly ToolUserAction[]) => Promise<ToolUserStep[]>;

/** Takes each action by itself, as a model does that calls one tool in each reply. */
export const playOneByOne: PlayActions = async (env, actions) => {
  const steps: ToolUserStep[] = [];
  for (const action of actions) steps.push(await env.step(action));
  return steps;
};

const TIMEOUT_MS = 120_000;

/** Returns a function that lets one Python program call the tools of all actions. The pool needs `hostTools`. */
export function playFromCode(pool: SessionPool): PlayActions {
  return async (env, actions) => {
    const steps: ToolUserStep[] = [];
    const interpreter = new PythonInterpreter({
      pool,
      tools: toolsOf(env, steps),
      toolLimits: { timeoutMs: TIMEOUT_MS, maxTotalMs: TIMEOUT_MS },
      timeoutMs: TIMEOUT_MS,
      describeTools: false,
    });
    await using chat = new TransformedEnv(new ChatEnv(), [interpreter]);
    await chat.reset({ id: env.name, query: "Work on the task." });
    const { toolResults } = await chat.step(replyAction(`~~~python\n${programOf(actions)}\n~~~`));
    const [block] = toolResults;
    if (block?.status === "ok" && block.text.includes(`${actions.length} calls`)) return steps;
    throw new Error(`Cannot play from code as the program must end: ${block?.text.slice(-500)}`);
  };
}

function toolsOf(env: TauBenchEnv, steps: ToolUserStep[]): Tool[] {
  const described = env.toolsInfo.map(({ function: { name, description, parameters } }) => (
    { name, description: description ?? "", parameters: { ...parameters } }
  ));
  const respond = {
    name: RESPOND,
    description: "Says something to the user.",
    parameters: { type: "object" },
  };
  return [...described, respond].map((spec): Tool => ({
    ...spec,
    checksItself: true, // as the tools of tau-bench do
    async run(kwargs, { argumentsText: kwargsText }) {
      const step = await env.step({
        name: spec.name,
        kwargs,
        ...(kwargsText !== undefined && { kwargsText }),
      });
      steps.push(step);
      return step.observation;
    },
  }));
}

function programOf(actions: readonly ToolUserAction[]): string {
  const calls = actions.map(({ name, kwargs, kwargsText }) =>
    `[${JSON.stringify(name)}, ${kwargsText ?? JSON.stringify(kwargs)}]`
  );
  return `import json
from paddock import tools
calls = json.loads(${JSON.stringify(`[${calls.join(", ")}]`)})
texts = [getattr(tools, name)(**arguments) for name, arguments in calls]
print(sum(isinstance(text, str) for text in texts), "calls")`;
}
