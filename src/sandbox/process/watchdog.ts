/** Limits of a watched process. */
export interface WatchLimits {
  /** CPU time from the start of the watch, in seconds. */
  readonly cpuSeconds: number;
  /** Resident memory that is not shared with other processes, in bytes. */
  readonly memoryBytes: number;
  /**
   * Name of the thread whose CPU time counts.
   *
   * @default all threads
   */
  readonly thread?: string | undefined;
}

/** The limit that a watched process exceeded. */
export type Breach = "cpu" | "memory";

const INTERVAL_MS = 200;
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

/**
 * Watches a process from outside, through `/proc`, until the watchdog is disposed. The first check is after an
 * interval, so that a short exec costs nothing.
 */
export function watchProcess(
  pid: number,
  limits: WatchLimits,
  onBreach: (breach: Breach) => void,
): AsyncDisposable {
  let cpuAtStart: number | undefined;
  let checks = Promise.resolve();
  const check = async () => {
    const usage = await readUsage(pid, limits.thread);
    if (!usage) return;
    cpuAtStart ??= usage.cpuSeconds;
    if (usage.memoryBytes > limits.memoryBytes) onBreach("memory");
    else if (usage.cpuSeconds - cpuAtStart > limits.cpuSeconds) onBreach("cpu");
  };
  const timer = setInterval(() => checks = checks.then(check), INTERVAL_MS);
  return {
    async [Symbol.asyncDispose](): Promise<void> {
      clearInterval(timer);
      await checks;
    },
  };
}

/**
 * Returns the current usage of a process; `undefined` if the process has ended or the host has no `/proc`.
 */
async function readUsage(
  startedPid: number,
  thread: string | undefined,
): Promise<{ cpuSeconds: number; memoryBytes: number } | undefined> {
  try {
    const pid = innermostProcess(startedPid);
    const [stat, statm] = await Promise.all([
      thread === undefined ? Deno.readTextFile(`/proc/${pid}/stat`) : threadStat(pid, thread),
      Deno.readTextFile(`/proc/${pid}/statm`),
    ]);
    const times = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [, resident = "0", shared = "0"] = statm.split(" ");
    return {
      cpuSeconds: (Number(times[11]) + Number(times[12])) / TICKS_PER_SECOND,
      memoryBytes: (Number(resident) - Number(shared)) * PAGE_BYTES,
    };
  } catch {
    return undefined; // the process ended during the reads
  }
}

/** Returns `/proc/…/stat` of the thread with this name. */
async function threadStat(pid: number, name: string): Promise<string> {
  for await (const { name: id } of Deno.readDir(`/proc/${pid}/task`)) {
    const stat = await Deno.readTextFile(`/proc/${pid}/task/${id}/stat`);
    if (stat.includes(`(${name})`)) return stat;
  }
  throw new Deno.errors.NotFound(`there is no thread '${name}'`);
}

/**
 * Returns the id of the process that does the work: the started process, or the process that the wrappers
 * started.
 */
export function innermostProcess(pid: number): number {
  try {
    const child = Number.parseInt(Deno.readTextFileSync(`/proc/${pid}/task/${pid}/children`));
    return Number.isNaN(child) ? pid : innermostProcess(child);
  } catch {
    return pid; // the process has ended, or the kernel does not list children
  }
}
