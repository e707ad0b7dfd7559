/** The processes that a process has started, by any of its threads, and that still run; none where Linux does not say. */
export async function childrenOf(pid: number): Promise<number[]> {
  const tasks = `/proc/${pid}/task`;
  const threads = await Array.fromAsync(Deno.readDir(tasks), ({ name }) => name).catch(() => []);
  const lists = await Promise.all(
    threads.map((thread) => Deno.readTextFile(`${tasks}/${thread}/children`).catch(() => "")),
  );
  return [...new Set(lists.flatMap((list) => list.split(/\s+/).filter((word) => word !== "").map(Number)))];
}

/** Whether a process runs. */
export async function isAlive(pid: number): Promise<boolean> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => undefined);
  return stat !== undefined && !/\) [ZX] /.test(stat);
}
