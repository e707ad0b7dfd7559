/**
 * Whether this process was started with SIGHUP ignored, as by `nohup`. The command line's first module imports this
 * module, which imports nothing. Half a second after the start, when Deno begins to listen to SIGUSR1, Deno takes SIGHUP,
 * and the system no longer shows that SIGHUP was ignored.
 */

/** True if SIGHUP is ignored. Always false without `/proc`, and once Deno or a listener has taken the signal. */
export function isHangupIgnored(): boolean {
  let status: string;
  try {
    status = Deno.readTextFileSync("/proc/self/status");
  } catch {
    return false; // the system has no /proc
  }
  const [, lastDigit = "0"] = /^SigIgn:\s*[0-9a-f]*([0-9a-f])$/m.exec(status) ?? [];
  return (Number.parseInt(lastDigit, 16) & 1) === 1;
}

/** Returns {@linkcode isHangupIgnored}. If true, SIGHUP stays ignored: without a listener, Deno would exit. */
export function keepHangupIgnored(): boolean {
  const isIgnored = isHangupIgnored();
  if (isIgnored) Deno.addSignalListener("SIGHUP", () => {});
  return isIgnored;
}
