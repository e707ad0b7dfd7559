import type { TauBenchDomain } from "../../src/envs/tau_bench/tau_bench_domain.ts";
import type { ToolUserAction } from "../../src/envs/tool_user_env.ts";

/** Returns the actions of a task, except those that end an episode. An index beyond the last task wraps around. */
export function ownCalls(
  domain: TauBenchDomain,
  { split, index }: { split: string; index: number },
): readonly ToolUserAction[] {
  const tasks = domain.tasks(split);
  const { terminate_tools } = domain.description;
  const actions = tasks[index % tasks.length]?.actions ?? [];
  return actions.filter(({ name }) => !terminate_tools.includes(name));
}
