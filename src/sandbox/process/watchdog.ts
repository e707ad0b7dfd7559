/** What a watched process may use. */
export interface WatchLimits {
  /** CPU time from now on. */
  readonly cpuSeconds: number;
  /** Resident memory that the process shares with no other. */
  readonly memoryBytes: number;
  /** The thread whose CPU time counts; that of the whole process unless given. */
  readonly thread?: string | undefined;
}

/** What the watchdog saw. */
export type Breach = "cpu" | "memory";

const INTERVAL_MS = 200;
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

/**
 * Looks at a process from outside, through `/proc`, until it is stopped. The first look is after one
 * interval, so that a short exec costs nothing.
 */
export function watchProcess(
  pid: number,
  limits: WatchLimits,
  onBreach: (breach: Breach) => void,
): AsyncDisposable {
  let cpuAtStart: number | undefined;
  let looking = Promise.resolve();
  const check = async () => {
    const seen = await look(pid, limits.thread);
    if (!seen) return;
    cpuAtStart ??= seen.cpuSeconds;
    if (seen.memoryBytes > limits.memoryBytes) onBreach("memory");
    else if (seen.cpuSeconds - cpuAtStart > limits.cpuSeconds) onBreach("cpu");
  };
  const timer = setInterval(() => looking = looking.then(check), INTERVAL_MS);
  return {
    async [Symbol.asyncDispose](): Promise<void> {
      clearInterval(timer);
      await looking;
    },
  };
}

/** What a process uses now; nothing when it is gone or this host does not say. */
async function look(
  started: number,
  thread: string | undefined,
): Promise<{ cpuSeconds: number; memoryBytes: number } | undefined> {
  try {
    const pid = await innermost(started);
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
    return undefined; // the process ended between two looks
  }
}

/** What the kernel says of the one thread that has this name. */
async function threadStat(pid: number, name: string): Promise<string> {
  for await (const { name: id } of Deno.readDir(`/proc/${pid}/task`)) {
    const stat = await Deno.readTextFile(`/proc/${pid}/task/${id}/stat`);
    if (stat.includes(`(${name})`)) return stat;
  }
  throw new Deno.errors.NotFound(`there is no thread '${name}'`);
}

/** The process that does the work: the one that was started, or the one that its wrappers started. */
async function innermost(pid: number): Promise<number> {
  const children = await Deno.readTextFile(`/proc/${pid}/task/${pid}/children`);
  const child = Number.parseInt(children);
  return Number.isNaN(child) ? pid : await innermost(child);
}
