import { TauBenchDomain, type TauBenchDomainOptions } from "../../src/envs/tau_bench/tau_bench_domain.ts";
import { TauBenchEnv } from "../../src/envs/tau_bench/tau_bench_env.ts";
import { respondAction } from "../../src/envs/tool_user_env.ts";
import { scriptedUser } from "../../src/users/scripted_user.ts";
import { USER_STOP } from "../../src/users/user_simulator.ts";
import { treePrivateBytes } from "../measure.ts";
import { childrenOf } from "../processes.ts";
import type { Row } from "../row.ts";
import { ownCalls } from "./own_calls.ts";

const MB = 1_000_000;
const BOUND_MB = 4_000;

/**
 * Measures the memory of concurrent episodes, this process included. Each session has played one episode to its reward,
 * and the task's actions in a second one. Returns no row if the host does not report the memory of processes.
 */
export async function memoryRows(
  options: TauBenchDomainOptions & { split: string; episodes: number },
): Promise<Row[]> {
  const { split, episodes, ...domainOptions } = options;
  await using stack = new AsyncDisposableStack();
  const domain = stack.use(await TauBenchDomain.open({ ...domainOptions, sessions: episodes }));
  await Promise.all(Array.from({ length: episodes }, async (_, number) => {
    const env = stack.use(
      await TauBenchEnv.open({ domain, split, user: scriptedUser(["Hello", USER_STOP]) }),
    );
    const play = async (index: number) => {
      await env.reset(index % env.taskCount);
      for (const action of ownCalls(domain, { split, index })) await env.step(action);
    };
    await play(number);
    await env.step(respondAction("That is all."));
    await play(number + 1);
  }));
  const bytes = await treePrivateBytes(Deno.pid);
  if (Number.isNaN(bytes)) return [];
  const processes = 1 + (await childrenOf(Deno.pid)).length;
  const what = `${domain.name}/${split}: memory of ${episodes} episodes at once, ${processes} processes`;
  return [{ what, value: bytes / MB, unit: "MB", bound: BOUND_MB }];
}
