import { type ExecResult, loadProfile, type Profile } from "../../mod.ts";
import { Sandbox, type Session } from "../../src/entry/sandbox.ts";

/** Runs a test with a session of its own, in a process of its own. */
export async function withSession(
  test: (session: Session, sandbox: Sandbox) => Promise<void>,
  options: { profile?: Profile; seed?: number } = {},
): Promise<void> {
  await using sandbox = await Sandbox.start({ profile: options.profile ?? await loadProfile("python") });
  await test(await sandbox.openSession({ seed: options.seed }), sandbox);
}

/** A shipped profile with some of its limits changed. */
export async function limited(name: string, limits: Partial<Profile["limits"]>): Promise<Profile> {
  const profile = await loadProfile(name);
  return { ...profile, limits: { ...profile.limits, ...limits } };
}

/** The value of an exec that went well, or all that came of another. */
export function value(result: ExecResult): string | undefined {
  if (result.status !== "ok") throw new Error(`exec ended as '${result.status}': ${JSON.stringify(result)}`);
  return result.value;
}

/** The traceback of an exec that failed. */
export function traceback(result: ExecResult): string {
  if (!("error" in result)) throw new Error(`exec ended as '${result.status}': ${JSON.stringify(result)}`);
  return result.error.traceback;
}

/**
 * Runs a program that does not end with longer and longer timeouts, until it has printed something before it is
 * stopped: a busy machine may take longer to start it than the first timeout.
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

/** Whether a process is gone; one that nobody has waited for counts. */
export async function isGone(pid: number): Promise<boolean> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "");
  return stat === "" || stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z");
}

/** The processes that a process has started and that still live; only those with `mark` in their command line. */
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
