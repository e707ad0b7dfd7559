import type { TauBenchDomain } from "../../src/envs/tau_bench/tau_bench_domain.ts";
import type { ToolUserAction } from "../../src/envs/tool_user_env.ts";

/** What a task asks for, without what would end its episode; the index may be any number from 0. */
export function ownCalls(
  domain: TauBenchDomain,
  { split, index }: { split: string; index: number },
): readonly ToolUserAction[] {
  const tasks = domain.tasks(split);
  const { terminate_tools } = domain.description;
  const actions = tasks[index % tasks.length]?.actions ?? [];
  return actions.filter(({ name }) => !terminate_tools.includes(name));
}
