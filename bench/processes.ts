/**
 * Returns the running child processes of a process, of any of its threads: all, or those with `mark` in their command
 * line. Empty if the system has no `/proc`.
 */
export async function childrenOf(pid: number, mark = ""): Promise<number[]> {
  const tasks = `/proc/${pid}/task`;
  const threads = await Array.fromAsync(Deno.readDir(tasks), ({ name }) => name).catch(() => []);
  const lists = await Promise.all(
    threads.map((thread) => Deno.readTextFile(`${tasks}/${thread}/children`).catch(() => "")),
  );
  const children = new Set(
    lists.flatMap((list) => list.split(/\s+/).filter((word) => word !== "").map(Number)),
  );
  if (mark === "") return [...children];
  const marked: number[] = [];
  for (const child of children) if ((await commandLine(child)).includes(mark)) marked.push(child);
  return marked;
}

/**
 * Returns a process and all below it. As root, a sandbox is not a child of the process that started it: the program
 * that confines it is between them.
 */
export async function processTree(pid: number): Promise<number[]> {
  const children = await childrenOf(pid);
  return [pid, ...(await Promise.all(children.map(processTree))).flat()];
}

/** Returns the command line of a process, empty if it has ended. */
async function commandLine(pid: number): Promise<string> {
  return await Deno.readTextFile(`/proc/${pid}/cmdline`).catch(() => "");
}

/** True if a process runs. */
export async function isAlive(pid: number): Promise<boolean> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => undefined);
  return stat !== undefined && !/\) [ZX] /.test(stat);
}

/**
 * Returns the CPU time of all children of this process that have ended, and of those that they waited for, in
 * milliseconds. NaN if the system has no `/proc`.
 */
export async function childrenCpuMs(): Promise<number> {
  const stat = await Deno.readTextFile("/proc/self/stat").catch(() => "");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(fields[13]) + Number(fields[14]); // cutime and cstime, in hundredths of a second
  return ticks * 10;
}

/** Milliseconds of a clock tick, in which Linux counts the CPU time of a process. */
const TICK_MS = 10;

/** Returns the CPU time of this process and its descendants that live, in milliseconds. */
export async function treeCpuMs(): Promise<number> {
  const times = (await processTree(Deno.pid)).map(async (pid) => {
    const text = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => ""); // it has ended
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return TICK_MS * (Number(fields[11] ?? 0) + Number(fields[12] ?? 0));
  });
  return (await Promise.all(times)).reduce((sum, ms) => sum + ms, 0);
}
