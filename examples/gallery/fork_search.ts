// deno-lint-ignore-file no-console -- an example shows what it does
/**
 * Searches with forks: a state is a Python session, each step is tried in a copy of it, and the best copies go on.
 * Nothing is run again from the start.
 */
import { type BranchingLease, loadProfile, SandboxPool } from "@paddock/paddock/sandbox";

const target = 100;
const moves = ["n = n + 3", "n = n * 2", "n = n - 5"]; // a model would propose the moves
const width = 2;

interface State {
  readonly lease: BranchingLease;
  readonly path: readonly string[];
  readonly distance: number;
}

/** Returns a state for each move, in a copy of the session. */
async function expand({ lease, path }: State): Promise<State[]> {
  const copies = await lease.session.fork(moves.length);
  return await Promise.all(copies.map(async (copy, index) => {
    const move = moves[index] ?? "";
    const result = await copy.session.exec(`${move}\nn`);
    const n = result.status === "ok" ? Number(result.value) : Infinity;
    return { lease: copy, path: [...path, move], distance: Math.abs(target - n) };
  }));
}

await using pool = new SandboxPool({
  profile: await loadProfile("python"),
  size: width + width * moves.length,
  resetMode: "rewind",
});
const root = await pool.acquire();
await root.session.exec("n = 7");
let states: State[] = [{ lease: root, path: [], distance: target - 7 }];
for (let depth = 1; depth <= 8 && states[0]?.distance !== 0; depth++) {
  const next = (await Promise.all(states.map(expand))).flat();
  next.sort((a, b) => a.distance - b.distance);
  for (const { lease } of [...states, ...next.slice(width)]) await lease[Symbol.asyncDispose]();
  states = next.slice(0, width);
  console.log(`depth ${depth}: distances ${states.map(({ distance }) => distance).join(", ")}`);
}
console.log(states[0]?.path.join("; "));
for (const { lease } of states) await lease[Symbol.asyncDispose]();
