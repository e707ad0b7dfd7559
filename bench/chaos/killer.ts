import { childrenOf } from "../processes.ts";

/** What a {@linkcode killAtRandom} has done. */
export interface Killed {
  kills: number;
  /** Every child that was seen. */
  readonly seen: Set<number>;
}

/** Kills children of a process, one at a time, after pauses of any length up to `pauseMs`. */
export async function killAtRandom(
  parent: number,
  options: { goOn: (kills: number) => boolean; pauseMs: number },
): Promise<Killed> {
  const killed: Killed = { kills: 0, seen: new Set() };
  while (options.goOn(killed.kills)) {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * options.pauseMs));
    const children = await childrenOf(parent);
    for (const child of children) killed.seen.add(child);
    const victim = children[Math.floor(Math.random() * children.length)];
    if (victim !== undefined && kill(victim)) killed.kills++;
  }
  return killed;
}

function kill(pid: number): boolean {
  try {
    Deno.kill(pid, "SIGKILL");
    return true;
  } catch {
    return false; // it ended meanwhile
  }
}
