import type { Env } from "../../../envs/env.ts";
import { TauBenchDomain } from "../../../envs/tau_bench/tau_bench_domain.ts";
import { TauBenchEnv } from "../../../envs/tau_bench/tau_bench_env.ts";
import { ToolUserChat, toolUserTask } from "../../../envs/tool_user_chat.ts";
import { type Message, messageText } from "../../../message.ts";
import type { Task } from "../../../task.ts";
import { CALL_STYLES } from "../../../tools/parsers/call_styles.ts";
import { resumedUser } from "../../../users/user_simulator.ts";
import { lookUp } from "../../options.ts";
import { announceBuild, cacheDirectory } from "../../sandbox_options.ts";
import { rethrowAsUsageError, UsageError } from "../../cli_errors.ts";
import { resolveUser, type UserFlags } from "./users.ts";

/** Name of the env. */
export const TAU_BENCH = "tau-bench";

/** Flags that select the domain and the simulated users. */
export interface TauBenchFlags extends UserFlags {
  tasks?: string;
  path?: string;
  domain?: string;
  split?: string;
  calls?: string;
  /** Timeout of a tool call, in milliseconds. */
  timeoutMs: number;
  cacheDir?: string;
}

/** Open domain of a run. */
export interface TauBenchRun {
  readonly tasks: readonly Task[];
  /** Opens the env of an episode in a session of the domain. `saved` are the messages of an episode to continue. */
  openEnv(saved?: readonly Message[]): Promise<Env>;
}

/**
 * Opens the domain that the flags name. The stack disposes the domain.
 *
 * @throws {UsageError} if a flag is missing, or names a path, domain or split that does not exist.
 */
export async function openTauBench(
  flags: TauBenchFlags,
  options: { sessions: number; stack: AsyncDisposableStack; signal: AbortSignal },
): Promise<TauBenchRun> {
  const { path, domain: name, split = "test", calls = "qwen25", timeoutMs: toolTimeoutMs } = flags;
  if (path === undefined || name === undefined) {
    throw new UsageError(
      "Cannot play env 'tau-bench' as it needs a domain of a checkout: give --path DIR --domain NAME",
    );
  }
  if (flags.tasks !== undefined) {
    throw new UsageError(
      "Cannot play env 'tau-bench' with --tasks as its tasks come from --path: remove --tasks",
    );
  }
  const { parser } = lookUp(CALL_STYLES, calls, "call style");
  const makeUser = await resolveUser(flags, `${name}/${split}`);
  const { sessions, stack, signal } = options;
  const cache = { cacheDir: cacheDirectory(flags.cacheDir), onBuild: announceBuild };
  const domain = stack.use(
    await rethrowTauBenchErrors(() =>
      TauBenchDomain.open({ path, domain: name, sessions, signal, ...cache })
    ),
  );
  const tasks = await rethrowTauBenchErrors(() => domain.tasks(split));
  return {
    tasks: tasks.map((_, index) => toolUserTask({ name: `${name}/${split}` }, index)),
    openEnv: async (saved = []) => {
      const lines = saved.filter(({ role }) => role === "user").map(messageText);
      const user = lines.length === 0 ? await makeUser() : resumedUser(lines, await makeUser());
      const env = await TauBenchEnv.open({ domain, split, user, toolTimeoutMs, signal });
      return new ToolUserChat(env, { toolCalls: parser() });
    },
  };
}

/**
 * Runs `work`, which opens a part of tau-bench.
 *
 * @throws {UsageError} if a path, a domain or a split does not exist.
 */
export async function rethrowTauBenchErrors<T>(work: () => T | Promise<T>): Promise<T> {
  return await rethrowAsUsageError(work, { kinds: [Deno.errors.NotFound, RangeError] });
}
