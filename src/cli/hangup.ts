/**
 * Whether this process was started with SIGHUP ignored, as by `nohup`. The command line's first module imports this one,
 * which imports nothing: Deno takes SIGHUP, and the system then knows no more that it was ignored, half a second after the
 * start, when it begins to listen to SIGUSR1.
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

/** Returns {@linkcode isHangupIgnored}. If it is true, SIGHUP stays ignored: without a listener, Deno would exit. */
export function keepHangupIgnored(): boolean {
  const isIgnored = isHangupIgnored();
  if (isIgnored) Deno.addSignalListener("SIGHUP", () => {});
  return isIgnored;
}
