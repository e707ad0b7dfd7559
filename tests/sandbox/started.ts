import { type ExecResult, loadProfile, type Profile } from "../../mod/sandbox.ts";

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
