import { type ExecResult, loadProfile, type Profile } from "../../mod.ts";

/** Returns a profile of the package with other limits. */
export async function limited(name: string, limits: Partial<Profile["limits"]>): Promise<Profile> {
  const profile = await loadProfile(name);
  return { ...profile, limits: { ...profile.limits, ...limits } };
}

/** Returns the value of a successful exec. Throws with the result of any other one. */
export function value(result: ExecResult): string | undefined {
  if (result.status !== "ok") throw new Error(`exec ended as '${result.status}': ${JSON.stringify(result)}`);
  return result.value;
}

/** Returns the traceback of a failed exec. */
export function traceback(result: ExecResult): string {
  if (!("error" in result)) throw new Error(`exec ended as '${result.status}': ${JSON.stringify(result)}`);
  return result.error.traceback;
}

/**
 * Runs an endless program with increasing timeouts until it has printed something before it is stopped: on a busy
 * machine its start may take longer than the first timeout.
 */
export async function stoppedAfterOutput<Result extends { stdout: string }>(
  run: (timeoutMs: number) => Promise<Result>,
  options: { hasStarted?: (stdout: string) => boolean } = {},
): Promise<{ result: Result; timeoutMs: number }> {
  const { hasStarted = (stdout) => stdout !== "" } = options;
  for (let timeoutMs = 100;; timeoutMs *= 2) {
    const result = await run(timeoutMs);
    if (hasStarted(result.stdout)) return { result, timeoutMs };
  }
}

/** Returns true if a process has ended, including one that its parent has not waited for. */
export async function isGone(pid: number): Promise<boolean> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "");
  return stat === "" || stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z");
}

/** Returns the running children of a process, only those with `mark` in their command line. */
export async function childrenOf(parent: number, mark = ""): Promise<number[]> {
  const found: number[] = [];
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await Deno.readTextFile(`/proc/${name}/stat`).catch(() => "");
    const [state, parentPid] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const command = await Deno.readTextFile(`/proc/${name}/cmdline`).catch(() => "");
    if (Number(parentPid) === parent && state !== "Z" && command.includes(mark)) found.push(Number(name));
  }
  return found;
}
